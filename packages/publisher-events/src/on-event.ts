import { assertKnownOptions, type OptionNames } from '@postcommit/core/internal';
import type { EventClass } from './event-class.js';
import { assertSubscription, invalid, type Listener, toListener } from './listener.js';
import type { Heard, ListenerOptions } from './listener-options.js';
import { record } from './listeners-of.js';

const OPTION_NAMES: OptionNames<ListenerOptions<object, string>> = { name: true, topic: true };

/** A method decorator that works both as a standard and as a legacy one (`experimentalDecorators`). */
export interface OnEventDecorator<Event> {
  <This, Method extends (this: This, event: Event) => unknown>(
    method: Method,
    context: ClassMethodDecoratorContext<This, Method>,
  ): void;
  <Method extends (event: Event) => unknown>(
    target: object,
    key: string | symbol,
    descriptor: TypedPropertyDescriptor<Method>,
  ): void;
}

/**
 * Makes a method a listener once an instance of its class is among the `EventListeners`. It only stores metadata.
 * A method may have several decorators. A subclass inherits them; decorating the method again with the same name replaces
 * the parent's options.
 *
 * @throws OutboxError `INVALID_CONFIG` on a static or private member, or for an invalid option.
 * @example
 * class OrderProjector {
 *   @OnEvent(OutboxEvent, { name: 'order-projector', topic: 'order.*' })
 *   async on(event: OutboxEvent) {}
 * }
 */
export function OnEvent<Event extends object, const Pattern extends string = string>(
  event: EventClass<Event>,
  options: ListenerOptions<Event, Pattern>,
): OnEventDecorator<Heard<Event, Pattern>> {
  const subscription = { event, name: options?.name, topic: options?.topic };
  return (target: object, at: string | symbol | ClassMethodDecoratorContext, descriptor?: object) => {
    const method = typeof at === 'object' ? standardMethod(at) : legacyMethod(target, at, descriptor);
    assertSubscription(subscription, `@OnEvent on ${String(method)}`);
    assertKnownOptions<object>(`@OnEvent on ${String(method)}`, options, OPTION_NAMES);
    if (typeof at !== 'object') return record(target, { ...subscription, key: method });
    // A standard decorator never sees the class, so the metadata is stored on each new instance.
    at.addInitializer(function () {
      record(this as object, { ...subscription, key: method });
    });
  };
}

/**
 * Creates a listener from a function.
 *
 * @throws OutboxError `INVALID_CONFIG` for an invalid option.
 * @example
 * onEvent(OutboxEvent, (event) => log.info(event.topic), { name: 'order-log', topic: 'order.*' });
 */
export function onEvent<Event extends object, const Pattern extends string = string>(
  event: EventClass<Event>,
  handler: (event: Heard<Event, Pattern>) => unknown,
  options: ListenerOptions<Event, Pattern>,
): Listener<Event> {
  const subscription = { event, name: options?.name, topic: options?.topic };
  const origin = `onEvent(${[event?.name, handler?.name].filter(Boolean).join(', ')})`;
  assertSubscription(subscription, origin);
  assertKnownOptions<object>(origin, options, OPTION_NAMES);
  if (typeof handler !== 'function') throw invalid(origin, 'the second argument must be a function');
  return toListener(subscription, origin, handler) as Listener<Event>;
}

function standardMethod({
  kind,
  name,
  static: isStatic,
  private: isPrivate,
}: ClassMethodDecoratorContext): string | symbol {
  if (kind !== 'method' || isStatic || isPrivate) throw misplaced(name);
  return name;
}

function legacyMethod(target: object, key: string | symbol, descriptor: object | undefined): string | symbol {
  const isMethod =
    descriptor !== undefined && 'value' in descriptor && typeof descriptor.value === 'function';
  if (typeof target === 'function' || !isMethod) throw misplaced(key);
  return key;
}

function misplaced(key: string | symbol): Error {
  return invalid(`@OnEvent on ${String(key)}`, 'it belongs on a method that is neither static nor #private');
}
