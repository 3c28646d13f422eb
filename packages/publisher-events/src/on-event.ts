import { assertKnownOptions, type OptionNames } from '@postcommit/core';
import type { EventClass } from './event-class.js';
import { assertSubscription, invalid, type Listener, toListener } from './listener.js';
import type { Heard, ListenerOptions } from './listener-options.js';
import { record } from './listeners-of.js';

const OPTION_NAMES: OptionNames<ListenerOptions<object, string>> = { name: true, topic: true };

/** What `OnEvent` gives: a method decorator, a standard one and a legacy one (`experimentalDecorators`) at once. */
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
 * Makes a method a listener once an instance of its class is among the `EventListeners`. It stores metadata only.
 * A method may have several. A subclass inherits them; one that it decorates anew with the same name replaces its
 * parent's.
 *
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
    // A standard decorator never sees the class, so each new instance is told what its methods listen to.
    at.addInitializer(function () {
      record(this as object, { ...subscription, key: method });
    });
  };
}

/** A listener without a class. */
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
