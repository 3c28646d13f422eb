import { OutboxError } from '@postcommit/core';
import { topicMatcher } from '@postcommit/core/internal';
import type { EventClass } from './event-class.js';

/** Marks a listener. A global symbol, so that two copies of this package recognize each other's listeners. */
const LISTENER = Symbol.for('@postcommit/publisher-events/listener');

/** The argument of `EventBus.subscribe`. Created by `onEvent`, or by `listenersOf` from an instance with `@OnEvent`. */
export interface Listener<Event extends object = object> {
  readonly name: string;
  readonly event: EventClass<Event>;
  /** Where it is defined, for error messages: `OrderProjector.on`. */
  readonly origin: string;
  /** Whether the event matches its topic pattern; always true without one. */
  accepts(event: Event): boolean;
  handle(event: Event): unknown;
}

/** What a listener listens to. Plain data, because two copies of this package may share it. */
export interface Subscription {
  readonly event: EventClass;
  readonly name: string;
  readonly topic?: string | undefined;
}

export function toListener(
  { event, name, topic }: Subscription,
  origin: string,
  handle: (event: never) => unknown,
): Listener {
  const accepts = topic === undefined ? () => true : acceptsTopic(topic);
  return { [LISTENER]: true, name, event, origin, accepts, handle } as Listener;
}

export function isListener(value: object): value is Listener {
  return Reflect.get(value, LISTENER) === true;
}

/** Fails where the listener is defined, not when the first row arrives. */
export function assertSubscription({ event, name, topic }: Subscription, origin: string): void {
  if (typeof event !== 'function')
    throw invalid(origin, `the event is ${String(event)}, not a class; do two files import each other?`);
  if (typeof name !== 'string' || name.trim() === '')
    throw invalid(origin, "give the listener a name: { name: 'order-projector' }");
  if (topic !== undefined && (typeof topic !== 'string' || topic === ''))
    throw invalid(origin, "topic must be a pattern such as 'order.*'; leave it out to listen to all topics");
}

export function invalid(origin: string, problem: string): OutboxError {
  return new OutboxError('INVALID_CONFIG', `${origin}: ${problem}`);
}

function acceptsTopic(pattern: string): (event: { readonly topic?: unknown }) => boolean {
  const matches = topicMatcher(pattern);
  return ({ topic }) => typeof topic === 'string' && matches(topic);
}
