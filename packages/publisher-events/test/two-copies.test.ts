import * as core from '@postcommit/core';
import * as own from '@postcommit/publisher-events';
import { OutboxMemoryModule } from '@postcommit/store-memory';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { paid } from './events-fixture.js';
import { load } from './types/compile.js';

type Copy = typeof own;
let foreign: { readonly events: Copy; readonly core: typeof core };

/** A second evaluation of both packages: as when one is loaded as an ES module and the other as CommonJS. */
beforeAll(async () => {
  vi.resetModules();
  foreign = { events: await import('@postcommit/publisher-events'), core: await import('@postcommit/core') };
});

test('the copies have classes of their own', () => {
  expect(foreign.events.OutboxEvent).not.toBe(own.OutboxEvent);
  expect(foreign.core.PermanentError).not.toBe(core.PermanentError);
});

describe.each([
  ['the listeners', () => ({ app: own, listening: foreign.events })],
  ['the modules', () => ({ app: foreign.events, listening: own })],
])('with %s from another copy', (_title, copies) => {
  function compose(...listeners: own.ListenerSource[]): core.OutboxApp {
    const { app, listening } = copies();
    return core.composeModules([
      core.OutboxModule,
      OutboxMemoryModule,
      app.EventsModule,
      listening.EventsMemoryModule,
      app.OutboxEventsModule,
      { name: 'shop', contributes: listening.contributeListeners(...listeners) },
    ]);
  }

  async function dispatchOne(app: core.OutboxApp): Promise<core.DispatchSummary> {
    await app.get(core.OutboxStore).enqueue(paid);
    return app.get(core.OutboxDispatcher).dispatchPending();
  }

  test('values of onEvent are called', async () => {
    const { OutboxEvent, onEvent } = copies().listening;
    const heard: string[] = [];
    const listener = onEvent(OutboxEvent, ({ topic }) => heard.push(topic), { name: 'a', topic: 'order.*' });
    expect(await dispatchOne(compose(listener))).toMatchObject({ dispatched: 1 });
    expect(heard).toEqual(['order.paid']);
  });

  test.each(['standard', 'legacy'] as const)('classes with %s decorators are called', async (decorators) => {
    const modules = { '@postcommit/core': core, '@postcommit/publisher-events': copies().listening };
    const { OrderProjector, seen } = load({ fixture: 'order-projector.ts' }, decorators, modules);
    expect(await dispatchOne(compose(OrderProjector as new () => object))).toMatchObject({ dispatched: 1 });
    expect(seen).toEqual(['projected 7']);
  });

  test('errors of the other copy are understood', async () => {
    const { OutboxEvent, onEvent } = copies().listening;
    const fail = async (): Promise<never> => {
      throw new foreign.core.PermanentError('gone');
    };
    expect(await dispatchOne(compose(onEvent(OutboxEvent, fail, { name: 'a' })))).toMatchObject({ dead: 1 });
  });
});
