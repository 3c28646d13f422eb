import { type Contribution, Contributions, nameToken } from '@postcommit/core';
import { invalid } from './listener.js';

/** What listens in an application: instances whose class has methods with `@OnEvent`, and values of `onEvent`. */
export class EventListeners extends Contributions<object> {
  static {
    nameToken(this, '@postcommit/publisher-events/EventListeners');
  }
}

/** A class with `@OnEvent`, to be made with what it injects; an instance of one; or a value of `onEvent`. */
// biome-ignore lint/suspicious/noExplicitAny: only `any` accepts constructors of every parameter list here.
export type ListenerSource = (new (...args: any[]) => object) | object;

/**
 * Adds listeners to the application; for the `contributes` of a module.
 *
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
      'is neither a class, an instance of one, nor made by onEvent(…); wrap a function in onEvent(…)';
    throw invalid('a listener', problem);
  }
  return { to: EventListeners, useClass: source as new () => object };
}
