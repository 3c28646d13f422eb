import { OutboxDispatcher, PermanentError, TransientError } from '@postcommit/core';
import {
  EventSubscriptions,
  type Listener,
  MemoryEventBus,
  OutboxEvent,
  OutboxEventsPublisher,
  onEvent,
} from '@postcommit/publisher-events';
import { describe, expect, test } from 'vitest';
import type { OutboxEventsPublisherOptions } from '../src/outbox-events-publisher.js';
import { type OutboxFixture, openOutbox, paid, refusal } from './events-fixture.js';

function open(listeners: Listener<OutboxEvent>[], options?: OutboxEventsPublisherOptions): OutboxFixture {
  const subscriptions = new EventSubscriptions(new MemoryEventBus(), listeners);
  return openOutbox(new OutboxEventsPublisher(subscriptions, options));
}

/** Listeners by name: each notes that it ran, then throws what it is given. */
function outcomes(errors: Record<string, unknown>): { ran: string[]; listeners: Listener<OutboxEvent>[] } {
  const ran: string[] = [];
  const listeners = Object.entries(errors).map(([name, error]) =>
    onEvent(
      OutboxEvent,
      async () => {
        ran.push(name);
        if (error !== undefined) throw error;
      },
      { name },
    ),
  );
  return { ran, listeners };
}

describe('OutboxEventsPublisher', () => {
  test('passes each row to all listeners as one event, and then it is dispatched', async () => {
    const heard: OutboxEvent[] = [];
    const listen = (name: string): Listener<OutboxEvent> =>
      onEvent(OutboxEvent, (event) => heard.push(event), { name });
    const { store, dispatcher } = open([listen('a'), listen('b')]);
    const [id] = await store.enqueue({ ...paid, key: 'order-7', headers: { trace: 'abc' } });
    expect(await dispatcher().dispatchPending()).toMatchObject({ dispatched: 1 });
    expect(heard).toHaveLength(2);
    expect(heard[0]).toBe(heard[1]);
    expect(heard[0]).toMatchObject({ ...paid, id, key: 'order-7', headers: { trace: 'abc' }, attempt: 1 });
  });

  test('one failing listener of three fails the row; the other two ran; lastError names it', async () => {
    const { ran, listeners } = outcomes({ first: undefined, broken: new Error('db down'), last: undefined });
    const { store, dispatcher, row } = open(listeners);
    await store.enqueue(paid);
    expect(await dispatcher().dispatchPending()).toMatchObject({ failed: 1, dispatched: 0, dead: 0 });
    expect(ran).toEqual(['first', 'broken', 'last']);
    const { attempts, lastError } = await row();
    expect(attempts).toBe(1);
    expect(lastError).toBe('1 of 3 listeners failed: broken: db down');
  });

  test('whichever listeners fail, all run, exactly those are named, and the row fails', async () => {
    for (let mask = 1; mask < 16; mask += 1) {
      const names = ['alpha', 'beta', 'gamma', 'delta'];
      const isBroken = (index: number): boolean => ((mask >> index) & 1) === 1;
      const { ran, listeners } = outcomes(
        Object.fromEntries(
          names.map((name, index) => [name, isBroken(index) ? new Error('down') : undefined]),
        ),
      );
      const { store, dispatcher, row } = open(listeners);
      await store.enqueue(paid);
      expect(await dispatcher().dispatchPending()).toMatchObject({ failed: 1 });
      expect(ran).toEqual(names);
      const { lastError } = await row();
      expect(names.map((name) => lastError?.includes(`${name}: down`))).toEqual(
        names.map((_name, index) => isBroken(index)),
      );
    }
  });

  test('a failed row is passed to all listeners again, with the same id and the next attempt', async () => {
    const heard: string[] = [];
    const { store, dispatcher } = open([
      onEvent(OutboxEvent, ({ id, attempt }) => heard.push(`a ${id} ${attempt}`), { name: 'a' }),
      onEvent(
        OutboxEvent,
        ({ attempt }) => {
          if (attempt === 1) throw new Error('not yet');
        },
        { name: 'b' },
      ),
    ]);
    await store.enqueue({ ...paid, id: 'row-7' });
    expect(await dispatcher().dispatchPending()).toMatchObject({ failed: 1 });
    expect(await dispatcher().dispatchPending()).toMatchObject({ dispatched: 1 });
    expect(heard).toEqual(['a row-7 1', 'a row-7 2']);
  });

  test('with permanent errors only, the row is dead at once, for their reason', async () => {
    const gone = new PermanentError('gone', { reason: 'undecodable' });
    const { store, dispatcher, row } = open(outcomes({ a: gone, b: undefined }).listeners);
    await store.enqueue(paid);
    expect(await dispatcher().dispatchPending()).toMatchObject({ dead: 1 });
    expect(await row()).toMatchObject({ deadReason: 'undecodable', attempts: 1 });
  });

  test('one transient error keeps the row alive, for the delay it requests', async () => {
    const errors = {
      a: new PermanentError('gone'),
      b: new TransientError('busy', 60_000),
      c: new TransientError('x', 5),
    };
    const { clock, store, dispatcher, row } = open(outcomes(errors).listeners);
    await store.enqueue(paid);
    expect(await dispatcher().dispatchPending()).toMatchObject({ failed: 1 });
    expect((await row()).availableAt.getTime()).toBe(clock.now() + 60_000);
    await clock.advance(59_999);
    expect(await dispatcher().dispatchPending()).toMatchObject({ fetched: 0 });
    await clock.advance(1);
    expect(await dispatcher().dispatchPending()).toMatchObject({ fetched: 1 });
  });

  test('the signal aborts when the publish takes too long, and ends a listener that respects it', async () => {
    const ended: unknown[] = [];
    const obedient = onEvent(
      OutboxEvent,
      ({ signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => {
            ended.push(signal.reason);
            reject(signal.reason);
          });
        }),
      { name: 'obedient' },
    );
    const { clock, store, dispatcher, row } = open([obedient]);
    await store.enqueue(paid);
    const dispatching = dispatcher({ publishTimeoutMs: 1_000 }).dispatchPending();
    await clock.advance(1_000);
    expect(await dispatching).toMatchObject({ failed: 1 });
    expect(ended).toMatchObject([{ message: 'publish took longer than 1000 ms' }]);
    expect((await row()).lastError).toContain('publish took longer than 1000 ms');
  });
});

describe('a row without listeners', () => {
  test('is dead by default, with a reason and the topic', async () => {
    const { store, dispatcher, row } = open([]);
    await store.enqueue(paid);
    expect(await dispatcher().dispatchPending()).toMatchObject({ dead: 1 });
    expect(await row()).toMatchObject({
      deadReason: 'no-listener',
      lastError: expect.stringContaining("no listener for topic 'order.paid'"),
    });
  });

  test("is dispatched with onNoListener: 'complete'", async () => {
    const { store, dispatcher } = open([], { onNoListener: 'complete' });
    await store.enqueue(paid);
    expect(await dispatcher().dispatchPending()).toMatchObject({ dispatched: 1 });
  });

  test("waits with onNoListener: 'release', longer each time, for an instance that has one", async () => {
    const { clock, store, dispatcher, row } = open([], { onNoListener: 'release' });
    await store.enqueue(paid);
    const old = dispatcher();
    for (const waitMs of [5_000, 10_000, 20_000]) {
      expect(await old.dispatchPending()).toMatchObject({ failed: 1, dead: 0 });
      await clock.advance(waitMs - 1);
      expect(await old.dispatchPending()).toMatchObject({ fetched: 0 });
      await clock.advance(1);
    }
    expect(await row()).toMatchObject({
      attempts: 3,
      lastError: expect.stringContaining("no listener for topic 'order.paid' in this process"),
    });
    const heard: unknown[] = [];
    const listener = onEvent(OutboxEvent, ({ id }) => heard.push(id), { name: 'new' });
    const subscriptions = new EventSubscriptions(new MemoryEventBus(), [listener]);
    const next = new OutboxDispatcher(store, new OutboxEventsPublisher(subscriptions), { clock });
    expect(await next.dispatchPending()).toMatchObject({ dispatched: 1 });
    expect(heard).toEqual([(await row()).id]);
  });

  test('waits as long as its own backoff if that is longer, but otherwise never longer than 5 minutes', async () => {
    const { clock, store, dispatcher } = open([], { onNoListener: 'release' });
    await store.enqueue({ ...paid, retry: { backoff: { type: 'fixed', delayMs: 60_000 } } });
    for (const waitMs of [60_000, 60_000, 60_000, 60_000, 80_000, 160_000, 300_000, 300_000]) {
      expect(await dispatcher().dispatchPending()).toMatchObject({ failed: 1 });
      await clock.advance(waitMs - 1);
      expect(await dispatcher().dispatchPending()).toMatchObject({ fetched: 0 });
      await clock.advance(1);
    }
  });

  test("is dead: no-listener with onNoListener: 'release' after its last attempt", async () => {
    const { clock, store, dispatcher, row } = open([], { onNoListener: 'release' });
    await store.enqueue({ ...paid, retry: { maxAttempts: 2 } });
    expect(await dispatcher().dispatchPending()).toMatchObject({ failed: 1 });
    await clock.advance(5_000);
    expect(await dispatcher().dispatchPending()).toMatchObject({ dead: 1 });
    expect(await row()).toMatchObject({ deadReason: 'no-listener', attempts: 2 });
  });

  test('is one whose topic no pattern matches', async () => {
    const heard: string[] = [];
    const listener = onEvent(OutboxEvent, ({ topic }) => heard.push(topic), { name: 'a', topic: 'order.*' });
    const { store, dispatcher } = open([listener]);
    await store.enqueue([paid, { topic: 'user.created', payload: 1 }]);
    expect(await dispatcher().dispatchPending()).toMatchObject({ dispatched: 1, dead: 1 });
    expect(heard).toEqual(['order.paid']);
    expect(await store.peek({ reason: 'no-listener' }, 9)).toMatchObject([{ topic: 'user.created' }]);
  });

  test('is not one if a listener without a pattern receives all', async () => {
    const { store, dispatcher } = open(outcomes({ all: undefined }).listeners);
    await store.enqueue({ topic: 'whatever', payload: 1 });
    expect(await dispatcher().dispatchPending()).toMatchObject({ dispatched: 1 });
  });

  test("'complete' does not hide a listener that failed", async () => {
    const { listeners } = outcomes({ a: new Error('down') });
    const { store, dispatcher } = open(listeners, { onNoListener: 'complete' });
    await store.enqueue(paid);
    expect(await dispatcher().dispatchPending()).toMatchObject({ failed: 1 });
  });

  test('can be requeued once it has a listener', async () => {
    const bus = new MemoryEventBus();
    const { store, dispatcher, row } = openOutbox(new OutboxEventsPublisher(bus));
    await store.enqueue(paid);
    await dispatcher().dispatchPending();
    bus.subscribe(onEvent(OutboxEvent, () => {}, { name: 'late' }));
    await store.requeue((await row()).id);
    expect(await dispatcher().dispatchPending()).toMatchObject({ dispatched: 1 });
  });
});

test('onNoListener must be known', () => {
  const options = { onNoListener: 'ignore' as never };
  expect(() => new OutboxEventsPublisher(new MemoryEventBus(), options)).toThrow(
    refusal('INVALID_CONFIG', `onNoListener must be 'dead', 'release' or 'complete', not "ignore"`),
  );
});
