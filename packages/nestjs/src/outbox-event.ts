import { OutboxError } from '@postcommit/core';

/**
 * The class of an event: its fields are the payload, its `eventType` is the topic.
 *
 * @example
 * class OrderCreatedEvent {
 *   static readonly eventType = 'order.created';
 *   constructor(readonly orderId: string, readonly total: number) {}
 * }
 */
export interface OutboxEventClass<Event extends object = object> {
  // biome-ignore lint/suspicious/noExplicitAny: only `any` accepts constructors of every parameter list here.
  new (...args: any[]): Event;
  readonly eventType: string;
}

type Primitive = string | number | boolean | bigint | symbol | null | undefined;
type Callable = (...args: never[]) => unknown;

/** The value after a JSON round trip: fields without methods, and a `Date` as a string. */
export type EventPayload<Value> = unknown extends Value
  ? Value
  : Value extends Primitive
    ? Value
    : Value extends { toJSON(...args: never[]): infer Json }
      ? EventPayload<Json>
      : Value extends readonly unknown[]
        ? { [Index in keyof Value]: EventPayload<Value[Index]> }
        : { [Key in keyof Value as Value[Key] extends Callable ? never : Key]: EventPayload<Value[Key]> };

/** Returns the event type of an instance, or undefined if its class declares none. */
export function eventTypeOf(event: object): string | undefined {
  const eventClass: unknown = event.constructor;
  return isEventClass(eventClass) ? checkedType(eventClass) : undefined;
}

export function isEventClass(value: unknown): value is OutboxEventClass {
  return typeof value === 'function' && 'eventType' in value;
}

export function checkedType({ name, eventType }: OutboxEventClass): string {
  if (typeof eventType === 'string' && eventType !== '' && !eventType.includes('*')) return eventType;
  const problem = `${name}.eventType must be the name of one event, without '*', got ${JSON.stringify(eventType)}`;
  throw new OutboxError('INVALID_CONFIG', problem);
}
