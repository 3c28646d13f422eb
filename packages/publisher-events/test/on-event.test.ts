import * as core from '@postcommit/core';
import * as events from '@postcommit/publisher-events';
import { MemoryEventBus, OutboxEvent, onEvent } from '@postcommit/publisher-events';
import { describe, expect, test } from 'vitest';
import { listenersOf } from '../src/listeners-of.js';
import { refusal, rowWith } from './events-fixture.js';
import { load } from './types/compile.js';

const modules = { '@postcommit/core': core, '@postcommit/publisher-events': events };
const context = { attempt: 1, signal: new AbortController().signal };
const eventOn = (topic: string): OutboxEvent => new OutboxEvent(rowWith({ topic }), context);

type Class = new () => object;

describe.each(['standard', 'legacy'] as const)('@OnEvent as a %s decorator', (decorators) => {
  /** Compiles classes for which `on` decorates a listener of OutboxEvent. */
  function classes(text: string): Record<string, Class> {
    const source = `
      import { OnEvent, OutboxEvent } from '@postcommit/publisher-events';
      export const heard = [];
      const on = (name, topic) => OnEvent(OutboxEvent, { name, topic });
      const loud = (target, at, descriptor) => {
        const wrap = (method) => function (event) { heard.push('loud'); return method.call(this, event); };
        if (!descriptor) return wrap(target);
        descriptor.value = wrap(descriptor.value);
      };
      ${text}`;
    return load({ text: source }, decorators, modules) as Record<string, Class>;
  }

  function instance(loaded: Record<string, Class>, name: string): object {
    const found = loaded[name];
    if (!found) throw new Error(`no class ${name}`);
    return new found();
  }

  async function hear(source: object, topic = 'order.paid'): Promise<string[]> {
    const bus = new MemoryEventBus();
    const listeners = listenersOf(source);
    for (const listener of listeners) bus.subscribe(listener);
    expect((await bus.publish(eventOn(topic))).failures).toEqual([]);
    return listeners.map(({ name }) => name);
  }

  test("the specification's sample listens", async () => {
    const sample = load({ fixture: 'order-projector.ts' }, decorators, modules) as Record<string, Class>;
    expect(await hear(instance(sample, 'OrderProjector'))).toEqual(['order-projector']);
    await hear(instance(sample, 'OrderProjector'), 'order.refunded');
    expect(sample.seen).toEqual(['projected 7']);
  });

  test('a method is called on its instance, with what the constructor made', async () => {
    const loaded = classes(`
      export class Listener {
        #greeting;
        constructor() { this.#greeting = 'hello'; }
        @on('greeter') greet({ topic }) { heard.push(this.#greeting + ' ' + topic); }
      }`);
    await hear(instance(loaded, 'Listener'));
    expect(loaded.heard).toEqual(['hello order.paid']);
  });

  test('it stores metadata that does not show up on the instance, and leaves the method unchanged', () => {
    const loaded = classes(`
      export class Listener { @on('a') send(event) {} }`);
    const listener = instance(loaded, 'Listener');
    expect(Object.keys(listener)).toEqual([]);
    expect(JSON.stringify(listener)).toBe('{}');
    expect(Reflect.ownKeys(Reflect.get(listener, 'send'))).toEqual(['length', 'name']);
  });

  test('a method may have several, with separate topics', async () => {
    const loaded = classes(`
      export class Listener { @on('a', 'order.*') @on('b', '*.paid') send({ topic }) { heard.push(topic); } }`);
    expect((await hear(instance(loaded, 'Listener'))).sort()).toEqual(['a', 'b']);
    await hear(instance(loaded, 'Listener'), 'order.refunded');
    expect(loaded.heard).toEqual(['order.paid', 'order.paid', 'order.refunded']);
  });

  test('a method with a symbol name listens, and messages name it', () => {
    const loaded = classes(`
      const key = Symbol('hidden');
      export class Listener { @on('a') [key](event) {} }`);
    expect(listenersOf(instance(loaded, 'Listener'))).toMatchObject([{ origin: 'Listener.Symbol(hidden)' }]);
  });

  test('another decorator may wrap the method, above or below', async () => {
    const loaded = classes(`
      export class Above { @loud @on('a') send(event) { heard.push('above'); } }
      export class Below { @on('a') @loud send(event) { heard.push('below'); } }`);
    await hear(instance(loaded, 'Above'));
    await hear(instance(loaded, 'Below'));
    expect(loaded.heard).toEqual(['loud', 'above', 'loud', 'below']);
  });

  test('a subclass listens as its parent does, and an override takes the place of the method', async () => {
    const loaded = classes(`
      class Parent { @on('a') send(event) { heard.push('parent'); } }
      export class Heir extends Parent {}
      export class Overriding extends Parent { send(event) { heard.push('override'); } }`);
    expect(await hear(instance(loaded, 'Heir'))).toEqual(['a']);
    expect(await hear(instance(loaded, 'Overriding'))).toEqual(['a']);
    expect(loaded.heard).toEqual(['parent', 'override']);
  });

  test('an override that is decorated again replaces its parent under the same name, and adds another', async () => {
    const loaded = classes(`
      class Parent { @on('a') send(event) {} }
      export class Same extends Parent { @on('a', 'order.*') send({ topic }) { heard.push(topic); } }
      export class Other extends Parent { @on('b') send(event) {} }
      export const parent = Parent;`);
    expect(await hear(instance(loaded, 'Same'))).toEqual(['a']);
    await hear(instance(loaded, 'Same'), 'user.created');
    expect(loaded.heard).toEqual(['order.paid']);
    expect(await hear(instance(loaded, 'Other'))).toEqual(['a', 'b']);
    expect(await hear(instance(loaded, 'parent'))).toEqual(['a']);
  });

  test.each([
    ['static send(event) {}', 'send'],
    ['get send() { return 1; }', 'send'],
    ['send = 1;', 'send'],
    ...(decorators === 'standard' ? [['#send(event) {}', '#send']] : []),
  ])('it is rejected on %s', (member, name) => {
    expect(() => classes(`export class Listener { @on('a') ${member} }`)).toThrow(
      refusal(
        'INVALID_CONFIG',
        `@OnEvent on ${name}: it belongs on a method that is neither static nor #private`,
      ),
    );
  });

  test.each([
    [
      'OnEvent(undefined, { name: "a" })',
      'the event is undefined, not a class; do two files import each other?',
    ],
    ['OnEvent(OutboxEvent)', "give the listener a name: { name: 'order-projector' }"],
    ['OnEvent(OutboxEvent, { name: " " })', "give the listener a name: { name: 'order-projector' }"],
    ['OnEvent(OutboxEvent, { name: "a", topic: "" })', "topic must be a pattern such as 'order.*'"],
  ])('@%s is rejected where it is used', (decorator, message) => {
    expect(() => classes(`export class Listener { @${decorator} send(event) {} }`)).toThrow(
      refusal('INVALID_CONFIG', `@OnEvent on send: ${message}`),
    );
  });
});

describe('onEvent', () => {
  test('is a listener without a class, named after its source location', async () => {
    const heard: string[] = [];
    const send = (event: OutboxEvent): void => void heard.push(event.topic);
    const listener = onEvent(OutboxEvent, send, { name: 'sender' });
    expect(listenersOf(listener)).toEqual([listener]);
    expect(listener).toMatchObject({ name: 'sender', origin: 'onEvent(OutboxEvent, send)' });
    await listener.handle(eventOn('order.paid'));
    expect(heard).toEqual(['order.paid']);
  });

  test.each([
    [() => onEvent(undefined as never, () => {}, { name: 'a' }), 'the event is undefined'],
    [() => onEvent(OutboxEvent, () => {}, {} as never), 'give the listener a name'],
    [() => onEvent(OutboxEvent, () => {}, undefined as never), 'give the listener a name'],
    [() => onEvent(OutboxEvent, () => {}, { name: 'a', topic: '' }), 'topic must be a pattern'],
    [() => onEvent(OutboxEvent, undefined as never, { name: 'a' }), 'the second argument must be a function'],
  ])('is rejected where it is called: %s', (make, message) => {
    expect(make).toThrow(refusal('INVALID_CONFIG', message));
  });
});

test('an object without a method with @OnEvent is not a listener', () => {
  class Forgotten {}
  const message = 'Forgotten: it is among the listeners, but has no method with @OnEvent(…)';
  expect(() => listenersOf(new Forgotten())).toThrow(refusal('INVALID_CONFIG', message));
  expect(() => listenersOf(Object.create(null))).toThrow(refusal('INVALID_CONFIG', 'an anonymous class'));
});
