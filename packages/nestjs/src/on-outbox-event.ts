import { OutboxError } from '@postcommit/core';
import { topicMatcher } from '@postcommit/core/internal';
import type { Heard, OutboxEvent } from '@postcommit/publisher-events';
import { checkedType, type EventPayload, isEventClass, type OutboxEventClass } from './outbox-event.js';

/** What a handler receives besides the payload. */
export type OutboxEventContext = Pick<
  OutboxEvent,
  'id' | 'topic' | 'attempt' | 'headers' | 'key' | 'createdAt' | 'signal'
>;

/** Selects events by their class, or by a pattern of event types in which `*` matches any characters. */
export type EventSelector = OutboxEventClass | string;

type PayloadFor<Selector> =
  Selector extends OutboxEventClass<infer Event>
    ? EventPayload<Event>
    : Selector extends string
      ? Heard<OutboxEvent, Selector>['payload']
      : never;

/** A method decorator for `experimentalDecorators`, which Nest requires anyway. */
export type OnOutboxEventDecorator<Payload> = <
  Method extends (payload: Payload, context: OutboxEventContext) => unknown,
>(
  target: object,
  key: string | symbol,
  descriptor: TypedPropertyDescriptor<Method>,
) => void;

/** A method that handles events. */
export interface HandlerMethod {
  readonly key: string | symbol;
  readonly selectors: readonly string[];
}

/** A global symbol, so that two copies of this package see each other's handlers. */
const HANDLES = Symbol.for('@postcommit/nestjs/handles');

/**
 * Makes a method of a provider or controller handle outbox events. It receives the payload and a context. If it throws,
 * the event fails and is retried, so a handler must be idempotent by `context.id`.
 *
 * @throws OutboxError `INVALID_CONFIG` on a static member, a property, an empty list, or a class without `eventType`.
 * @example
 * @OnOutboxEvent(OrderCreatedEvent)
 * async notify(order: OrderCreatedEvent, { id, signal }: OutboxEventContext) {}
 */
export function OnOutboxEvent<const Selector extends EventSelector>(
  selector: Selector | readonly Selector[],
): OnOutboxEventDecorator<PayloadFor<Selector>> {
  return (target: object, key: string | symbol, descriptor?: { readonly value?: unknown }) => {
    if (typeof target === 'function' || typeof descriptor?.value !== 'function')
      throw invalid(key, 'it belongs on a method that is not static; is experimentalDecorators on?');
    const list = (Array.isArray(selector) ? selector : [selector]) as readonly unknown[];
    if (list.length === 0) throw invalid(key, 'the list of events is empty');
    const selectors = list.map((item) => patternOf(item, key));
    Object.defineProperty(target, HANDLES, {
      value: [...ownMethods(target), { key, selectors }],
      configurable: true,
    });
  };
}

/** Returns the handlers of a prototype or an instance. The decorators of a subclass replace those of its parent. */
export function handlerMethodsOf(target: object): HandlerMethod[] {
  const methods = new Map<string | symbol, HandlerMethod>();
  for (let at: object | null = target; at; at = Object.getPrototypeOf(at)) {
    const keys = new Set(methods.keys());
    for (const { key, selectors } of ownMethods(at)) {
      if (keys.has(key)) continue;
      // One method may have several decorators.
      methods.set(key, { key, selectors: [...(methods.get(key)?.selectors ?? []), ...selectors] });
    }
  }
  return [...methods.values()];
}

export function selectorMatcher(selectors: readonly string[]): (topic: string) => boolean {
  const matchers = selectors.map(topicMatcher);
  return (topic) => matchers.some((matches) => matches(topic));
}

function ownMethods(target: object): readonly HandlerMethod[] {
  return Object.hasOwn(target, HANDLES) ? (Reflect.get(target, HANDLES) as HandlerMethod[]) : [];
}

function patternOf(selector: unknown, key: string | symbol): string {
  if (isEventClass(selector)) return checkedType(selector);
  if (typeof selector === 'string' && selector !== '') return selector;
  const what =
    typeof selector === 'function' ? `the class ${selector.name} has no static eventType` : undefined;
  throw invalid(
    key,
    `${what ?? `got ${String(selector)}`}; pass a class with a static eventType, or a pattern such as 'order.*'`,
  );
}

function invalid(key: unknown, problem: string): OutboxError {
  // A standard decorator receives a context object here.
  const name = typeof key === 'object' ? 'a member' : String(key);
  return new OutboxError('INVALID_CONFIG', `@OnOutboxEvent on ${name}: ${problem}`);
}
