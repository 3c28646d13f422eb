import { invalid, isListener, type Listener, type Subscription, toListener } from './listener.js';

/**
 * The key of the list of listening methods, on the prototype or the instance of a class. A legacy decorator sees the
 * prototype; a standard one sees only each new instance.
 */
const LISTENS = Symbol.for('@postcommit/publisher-events/listens');

interface ListeningMethod extends Subscription {
  readonly key: string | symbol;
}

/**
 * Returns the listeners of an instance whose class has `@OnEvent` methods; a result of `onEvent` is returned as it is.
 *
 * @throws OutboxError `INVALID_CONFIG` when there are none.
 */
export function listenersOf(source: object): Listener[] {
  if (isListener(source)) return [source];
  const className = source.constructor?.name || 'an anonymous class';
  const methods = recorded(source);
  if (methods.length === 0) {
    const problem =
      'it is among the listeners, but has no method with @OnEvent(…) and is not a result of onEvent(…)';
    throw invalid(className, problem);
  }
  return methods.map((method) => {
    // Looked up at each call, so that an override or a method replaced by another decorator takes effect.
    const handle = (event: never): unknown => Reflect.get(source, method.key).call(source, event);
    return toListener(method, `${className}.${String(method.key)}`, handle);
  });
}

export function record(target: object, method: ListeningMethod): void {
  const value = [...ownMethods(target), method];
  Object.defineProperty(target, LISTENS, { value, configurable: true });
}

/** Parents first, then the instance, so that a subclass replaces its parent's entry of the same method and name. */
function recorded(source: object): ListeningMethod[] {
  const methods: ListeningMethod[] = [];
  for (let at: object | null = source; at; at = Object.getPrototypeOf(at)) methods.unshift(...ownMethods(at));
  return methods.filter(
    ({ key, name }, index) =>
      !methods.slice(index + 1).some((later) => later.key === key && later.name === name),
  );
}

function ownMethods(target: object): readonly ListeningMethod[] {
  return Object.hasOwn(target, LISTENS) ? (Reflect.get(target, LISTENS) as ListeningMethod[]) : [];
}
