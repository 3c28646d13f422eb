import type { DiscoveryService } from '@nestjs/core';
import { OutboxError } from '@postcommit/core';
import { type Listener, OutboxEvent } from '@postcommit/publisher-events';
import { type HandlerMethod, handlerMethodsOf, selectorMatcher } from './on-outbox-event.js';

/** Nest's record of a provider or controller. */
type Wrapper = ReturnType<DiscoveryService['getProviders']>[number];

/** A provider or controller that has handlers. */
interface HandlerHost {
  readonly wrapper: Wrapper;
  readonly className: string;
  readonly methods: readonly HandlerMethod[];
}

/**
 * Returns every `@OnOutboxEvent` method of the application as a listener.
 *
 * @throws OutboxError `INVALID_CONFIG` when a handler is not on a singleton, or its class has two instances.
 */
export function discoverHandlers(discovery: DiscoveryService): Listener[] {
  const hosts = [...discovery.getProviders(), ...discovery.getControllers()]
    .map(toHost)
    .filter((host) => host !== undefined);
  hosts.forEach(assertSingleton);
  const listeners = uniqueInstances(hosts).flatMap(toListeners);
  assertOneInstancePerClass(hosts);
  return listeners;
}

function toHost(wrapper: Wrapper): HandlerHost | undefined {
  const source = sourceOf(wrapper);
  if (typeof source !== 'object' || source === null) return undefined;
  const methods = handlerMethodsOf(source);
  if (methods.length === 0) return undefined;
  return { wrapper, className: source.constructor.name, methods };
}

/**
 * The object that carries the decorators' metadata. A class has it before there is an instance; for a factory that is
 * not a singleton, only the class used as its token has it.
 */
function sourceOf(wrapper: Wrapper): unknown {
  if (!wrapper.isNotMetatype) return wrapper.metatype?.prototype;
  if (wrapper.isDependencyTreeStatic() && !wrapper.isTransient) return wrapper.instance;
  return typeof wrapper.token === 'function' ? wrapper.token.prototype : undefined;
}

/** Outside a request, a request-scoped provider has no instance, and a transient one has many. */
function assertSingleton({ wrapper, className, methods }: HandlerHost): void {
  if (wrapper.isDependencyTreeStatic() && !wrapper.isTransient) return;
  const kind = wrapper.isTransient ? 'transient' : 'request-scoped, or depends on something that is';
  const names = methods.map(({ key }) => `${className}.${String(key)}`).join(', ');
  throw invalid(
    `${names}: ${className} is ${kind}, and there is no request when an event is handled; ` +
      'move @OnOutboxEvent to a singleton provider',
  );
}

/** An alias is the same instance under another token. */
function uniqueInstances(hosts: readonly HandlerHost[]): HandlerHost[] {
  return [...new Map(hosts.map((host) => [host.wrapper.instance as unknown, host])).values()];
}

/** A class provided by two modules has two instances, and both would handle every event. */
function assertOneInstancePerClass(hosts: readonly HandlerHost[]): void {
  const first = new Map<unknown, HandlerHost>();
  for (const host of hosts) {
    const instance: object = host.wrapper.instance;
    const other = first.get(instance.constructor);
    if (other && other.wrapper.instance !== instance) {
      const modules = [other, host].map(({ wrapper }) => wrapper.host?.name ?? 'a module').join(' and ');
      throw invalid(
        `${host.className} handles events and exists twice, in ${modules}, so it would handle each event twice; ` +
          'provide it in one module and export it from there',
      );
    }
    first.set(instance.constructor, host);
  }
}

function toListeners({ wrapper, className, methods }: HandlerHost): Listener[] {
  const instance: object = wrapper.instance;
  return methods.map(({ key, selectors }) => {
    const name = `${className}.${String(key)}`;
    const matches = selectorMatcher(selectors);
    const listener: Listener<OutboxEvent> = {
      name,
      origin: name,
      event: OutboxEvent,
      accepts: ({ topic }) => matches(topic),
      // Looked up at each call, so that a method replaced by another decorator or a test takes effect.
      handle: (event) => Reflect.get(instance, key).call(instance, event.payload, event),
    };
    return listener as Listener;
  });
}

function invalid(problem: string): OutboxError {
  return new OutboxError('INVALID_CONFIG', `@OnOutboxEvent: ${problem}`);
}
