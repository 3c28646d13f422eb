/** The topics that a pattern can match, as a type: `order.*` is `order.${string}`. */
type Matched<Pattern extends string> = Pattern extends `${infer Head}*${infer Tail}`
  ? `${Head}${string}${Matched<Tail>}`
  : Pattern;

/** The events that a listener with this pattern hears: of the declared topics, those that match. */
export type Heard<Event, Pattern extends string> = Event extends { readonly topic: infer Topic }
  ? string extends Topic
    ? Event
    : Topic extends Matched<Pattern>
      ? Event
      : never
  : Event;

/** Gives the compiler something to say about a pattern that no event can match. */
type Heeded<Event, Pattern extends string> = [Event] extends [{ readonly topic: string }]
  ? [Heard<Event, Pattern>] extends [never]
    ? { readonly noDeclaredTopicMatches: Pattern }
    : unknown
  : { readonly eventHasNoTopic: Event };

export interface ListenerOptions<Event extends object, Pattern extends string> {
  /** Unique in the application: errors and `lastError` name the listener by it. */
  readonly name: string;
  /** Hears only events whose topic matches; `*` stands for any characters. Default: all. */
  readonly topic?: (Pattern & Heeded<Event, Pattern>) | undefined;
}
