import type { DiscoveryService } from '@nestjs/core';
import { OutboxError } from '@postcommit/core';
import { type Listener, OutboxEvent } from '@postcommit/publisher-events';
import { type HandlerMethod, handlerMethodsOf, selectorMatcher } from './on-outbox-event.js';

/** What Nest knows about a provider or controller, as far as we look. */
type Wrapper = ReturnType<DiscoveryService['getProviders']>[number];

/** A provider or controller with handlers. */
interface Found {
  readonly wrapper: Wrapper;
  readonly className: string;
  readonly methods: readonly HandlerMethod[];
}

/** Every `@OnOutboxEvent` method of the application, as a listener of the outbox. */
export function discoverHandlers(discovery: DiscoveryService): Listener[] {
  const found = [...discovery.getProviders(), ...discovery.getControllers()]
    .map(look)
    .filter((one) => one !== undefined);
  found.forEach(assertSingleton);
  const listeners = uniqueInstances(found).flatMap(toListeners);
  assertFoundOnce(found);
  return listeners;
}

function look(wrapper: Wrapper): Found | undefined {
  const source = sourceOf(wrapper);
  if (typeof source !== 'object' || source === null) return undefined;
  const methods = handlerMethodsOf(source);
  if (methods.length === 0) return undefined;
  return { wrapper, className: source.constructor.name, methods };
}

/** What carries the decorators' notes: a class knows them before it has an instance, a factory only by its token. */
function sourceOf(wrapper: Wrapper): unknown {
  if (!wrapper.isNotMetatype) return wrapper.metatype?.prototype;
  if (wrapper.isDependencyTreeStatic() && !wrapper.isTransient) return wrapper.instance;
  return typeof wrapper.token === 'function' ? wrapper.token.prototype : undefined;
}

/** Outside a request there is no instance of a request-scoped provider, and of a transient one there are many. */
function assertSingleton({ wrapper, className, methods }: Found): void {
  if (wrapper.isDependencyTreeStatic() && !wrapper.isTransient) return;
  const kind = wrapper.isTransient ? 'transient' : 'request-scoped, or depends on something that is';
  const names = methods.map(({ key }) => `${className}.${String(key)}`).join(', ');
  throw invalid(
    `${names}: ${className} is ${kind}, and there is no request when an event is handled; ` +
      'move @OnOutboxEvent to a singleton provider',
  );
}

/** An alias is the same instance by another token. */
function uniqueInstances(found: readonly Found[]): Found[] {
  return [...new Map(found.map((one) => [one.wrapper.instance as unknown, one])).values()];
}

/** A class in the providers of two modules has two instances, which would both handle every event. */
function assertFoundOnce(found: readonly Found[]): void {
  const first = new Map<unknown, Found>();
  for (const one of found) {
    const instance: object = one.wrapper.instance;
    const other = first.get(instance.constructor);
    if (other && other.wrapper.instance !== instance) {
      const modules = [other, one].map(({ wrapper }) => wrapper.host?.name ?? 'a module').join(' and ');
      throw invalid(
        `${one.className} handles events and exists twice, in ${modules}, so it would handle each event twice; ` +
          'provide it in one module and export it from there',
      );
    }
    first.set(instance.constructor, one);
  }
}

function toListeners({ wrapper, className, methods }: Found): Listener[] {
  const instance: object = wrapper.instance;
  return methods.map(({ key, selectors }) => {
    const name = `${className}.${String(key)}`;
    const matches = selectorMatcher(selectors);
    const listener: Listener<OutboxEvent> = {
      name,
      origin: name,
      event: OutboxEvent,
      accepts: ({ topic }) => matches(topic),
      // Looked up at each call, so that what another decorator or a test made of the method is what runs.
      handle: (event) => Reflect.get(instance, key).call(instance, event.payload, event),
    };
    return listener as Listener;
  });
}

function invalid(problem: string): OutboxError {
  return new OutboxError('INVALID_CONFIG', `@OnOutboxEvent: ${problem}`);
}
