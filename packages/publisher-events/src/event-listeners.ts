import { type Contribution, Contributions } from '@postcommit/core';
import { nameToken } from '@postcommit/core/internal';
import { invalid } from './listener.js';

/** The listeners of an application: instances of classes with `@OnEvent` methods, and results of `onEvent`. */
export class EventListeners extends Contributions<object> {
  static {
    nameToken(this, '@postcommit/publisher-events/EventListeners');
  }
}

/** A class with `@OnEvent` methods, created with its dependencies; an instance of one; or a result of `onEvent`. */
// biome-ignore lint/suspicious/noExplicitAny: only `any` accepts constructors of every parameter list here.
export type ListenerSource = (new (...args: any[]) => object) | object;

/**
 * Adds listeners to the application. Use it in the `contributes` of a module.
 *
 * @throws OutboxError `INVALID_CONFIG` for a plain function; wrap it in `onEvent`.
 * @example
 * const OrdersModule: Module = { name: 'OrdersModule', contributes: contributeListeners(OrderProjector) };
 */
export function contributeListeners(...sources: readonly ListenerSource[]): Contribution<object>[] {
  return sources.map(contributeListener);
}

function contributeListener(source: ListenerSource): Contribution<object> {
  if (typeof source === 'object' && source !== null) return { to: EventListeners, useValue: source };
  if (typeof source !== 'function' || source.prototype === undefined) {
    const problem =
      'is not a class, an instance of one, or a result of onEvent(…); wrap a function in onEvent(…)';
    throw invalid('a listener', problem);
  }
  return { to: EventListeners, useClass: source as new () => object };
}
