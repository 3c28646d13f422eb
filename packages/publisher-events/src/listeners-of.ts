import { invalid, isListener, type Listener, type Subscription, toListener } from './listener.js';

/**
 * A list of what the methods of a class listen to, on its prototype or on the instance. A legacy decorator sees
 * the prototype; a standard one only each new instance.
 */
const LISTENS = Symbol.for('@postcommit/publisher-events/listens');

interface ListeningMethod extends Subscription {
  readonly key: string | symbol;
}

/** The listeners of an instance whose class has methods with `@OnEvent`; a value of `onEvent` is its own. */
export function listenersOf(source: object): Listener[] {
  if (isListener(source)) return [source];
  const className = source.constructor?.name || 'an anonymous class';
  const methods = recorded(source);
  if (methods.length === 0) {
    const problem =
      'it is among the listeners, but has no method with @OnEvent(…) and was not made by onEvent(…)';
    throw invalid(className, problem);
  }
  return methods.map((method) => {
    // Looked up at each call, so that an override, or what another decorator made of the method, is what runs.
    const handle = (event: never): unknown => Reflect.get(source, method.key).call(source, event);
    return toListener(method, `${className}.${String(method.key)}`, handle);
  });
}

export function record(target: object, method: ListeningMethod): void {
  const value = [...ownMethods(target), method];
  Object.defineProperty(target, LISTENS, { value, configurable: true });
}

/** Parents first, then the instance itself, so that what a subclass says about a method and name comes last and wins. */
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
