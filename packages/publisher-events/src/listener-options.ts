/** The type of the topics that a pattern matches: `order.*` becomes `order.${string}`. */
type Matched<Pattern extends string> = Pattern extends `${infer Head}*${infer Tail}`
  ? `${Head}${string}${Matched<Tail>}`
  : Pattern;

/** The events that a listener with this pattern receives: those whose declared topic matches. */
export type Heard<Event, Pattern extends string> = Event extends { readonly topic: infer Topic }
  ? string extends Topic
    ? Event
    : Topic extends Matched<Pattern>
      ? Event
      : never
  : Event;

/** Produces a readable compiler error for a pattern that no event can match. */
type CheckedPattern<Event, Pattern extends string> = [Event] extends [{ readonly topic: string }]
  ? [Heard<Event, Pattern>] extends [never]
    ? { readonly noDeclaredTopicMatches: Pattern }
    : unknown
  : { readonly eventHasNoTopic: Event };

export interface ListenerOptions<Event extends object, Pattern extends string> {
  /** Unique in the application. Errors and `lastError` use it to name the listener. */
  readonly name: string;
  /**
   * A pattern: only events whose topic matches are delivered. `*` matches any characters.
   *
   * @default all topics
   */
  readonly topic?: (Pattern & CheckedPattern<Event, Pattern>) | undefined;
}
