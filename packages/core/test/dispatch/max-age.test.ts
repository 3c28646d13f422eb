import { MemoryOutboxStore, MemoryTable } from '@postcommit/store-memory';
import { describe, expect, test } from 'vitest';
import { MemoryOutboxPauses } from '../../../store-memory/src/memory-outbox-pauses.js';
import { OutboxDispatcher } from '../../src/dispatch/outbox-dispatcher.js';
import { UnavailableError } from '../../src/message/errors.js';
import { OutboxStore } from '../../src/store/outbox-store.js';
import { CountingClock, openOutbox, refusal } from '../outbox-fixture.js';

const HOUR_MS = 3_600_000;
const maxAgeMs = HOUR_MS;

const entry = { id: 'x1', topic: 'order.paid', payload: 1 };
const published = (): {
  readonly ids: string[];
  readonly publish: (row: { id: string }) => Promise<void>;
} => {
  const ids: string[] = [];
  return { ids, publish: async ({ id }) => void ids.push(id) };
};

describe('with maxAgeMs', () => {
  test('a row that is older when it is claimed is dead: expired, unpublished and without an attempt', async () => {
    const { store, dispatcher, clock, row } = openOutbox();
    await store.enqueue(entry);
    await clock.advance(HOUR_MS + 1);
    await store.enqueue({ ...entry, id: 'x2' });
    const { ids, publish } = published();
    expect(await dispatcher(publish, { maxAgeMs }).dispatchPending()).toMatchObject({
      fetched: 2,
      dispatched: 1,
      dead: 1,
    });
    expect(ids).toEqual(['x2']);
    expect(await row('x1')).toMatchObject({
      attempts: 0,
      deadReason: 'expired',
      lastError: 'it was 3600001 ms old when it was claimed, and maxAgeMs is 3600000',
    });
  });

  test('a row of exactly this age is published, and one that gets older behind a slow publish', async () => {
    const { store, dispatcher, clock } = openOutbox();
    await store.enqueue([entry, { ...entry, id: 'x2' }]);
    await clock.advance(HOUR_MS);
    const { ids, publish } = published();
    const dispatching = dispatcher(
      async (row) => {
        await clock.wait(10_000);
        await publish(row);
      },
      { maxAgeMs },
    ).dispatchPending();
    await clock.advance(20_000);
    expect(await dispatching).toMatchObject({ dispatched: 2, dead: 0 });
    expect(ids).toEqual(['x1', 'x2']);
  });

  test('the error of the last attempt is kept', async () => {
    const { store, dispatcher, clock, row } = openOutbox();
    await store.enqueue(entry);
    const failing = dispatcher(() => Promise.reject(new Error('502')), { maxAgeMs });
    await failing.dispatchPending();
    await clock.advance(HOUR_MS + 1);
    await failing.dispatchPending();
    const { attempts, lastError } = await row('x1');
    expect(attempts).toBe(1);
    expect(lastError).toMatch(/^it was 3600001 ms old .*; its last error: 502$/);
  });

  test('a row behind an expired one of its key is published', async () => {
    const { store, dispatcher, clock } = openOutbox();
    await store.enqueue({ ...entry, key: 'k' });
    await clock.advance(HOUR_MS + 1);
    await store.enqueue({ ...entry, id: 'x2', key: 'k' });
    const { ids, publish } = published();
    await dispatcher(publish, { maxAgeMs }).dispatchPending();
    expect(ids).toEqual(['x2']);
  });

  test('time counts while the topic is paused', async () => {
    const clock = new CountingClock();
    const table = new MemoryTable(clock);
    const store = new MemoryOutboxStore({ table });
    const pauses = new MemoryOutboxPauses(table);
    await pauses.pause('order.paid');
    await store.enqueue(entry);
    const { ids, publish } = published();
    const dispatcher = new OutboxDispatcher(store, publish, { clock, maxAgeMs });
    expect(await dispatcher.dispatchPending()).toMatchObject({ fetched: 0 });
    await clock.advance(HOUR_MS + 1);
    await pauses.resume('order.paid');
    expect(await dispatcher.dispatchPending()).toMatchObject({ fetched: 1, dead: 1 });
    expect(ids).toEqual([]);
  });

  test('time counts while the destination is away', async () => {
    const { store, worker, clock, row } = openOutbox();
    await store.enqueue(entry);
    const working = worker(() => Promise.reject(new UnavailableError('no route', { isCertain: true })), {
      maxAgeMs,
    });
    working.start();
    await clock.advance(HOUR_MS - 60_000);
    expect(await row('x1')).not.toHaveProperty('deadAt');
    await clock.advance(120_000);
    expect(await row('x1')).toMatchObject({ deadReason: 'expired', attempts: 0 });
    await working.stop();
  });
});

describe('the age of a row', () => {
  /** A database whose clock is an hour ahead of this process's. */
  function hostsThatDiffer() {
    const clock = new CountingClock();
    const store = new MemoryOutboxStore({ table: new MemoryTable({ now: () => clock.now() + HOUR_MS }) });
    const { ids, publish } = published();
    return { clock, store, ids, dispatcher: new OutboxDispatcher(store, publish, { clock, maxAgeMs }) };
  }

  test('is measured by the clock of the store that stamped it', async () => {
    const { clock, store, ids, dispatcher } = hostsThatDiffer();
    await store.enqueue(entry);
    await clock.advance(HOUR_MS + 1);
    await store.enqueue({ ...entry, id: 'x2' });
    expect(await dispatcher.dispatchPending()).toMatchObject({ dispatched: 1, dead: 1 });
    expect(ids).toEqual(['x2']);
  });

  test('is measured by the clock of the process if the store does not tell its time', async () => {
    const { clock, store, ids, dispatcher } = hostsThatDiffer();
    store.lookAhead = OutboxStore.prototype.lookAhead;
    await store.enqueue(entry);
    await clock.advance(2 * HOUR_MS);
    expect(await dispatcher.dispatchPending()).toMatchObject({ dispatched: 1 });
    await store.enqueue({ ...entry, id: 'x2' });
    await clock.advance(2 * HOUR_MS + 1);
    expect(await dispatcher.dispatchPending()).toMatchObject({ dead: 1 });
    expect(ids).toEqual(['x1']);
  });
});

test.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY, '5', null])('maxAgeMs: %s is refused', (value) => {
  const { dispatcher } = openOutbox();
  expect(() => dispatcher(async () => {}, { maxAgeMs: value as number })).toThrow(
    refusal('INVALID_CONFIG', `OutboxConfig: maxAgeMs must be at least 1, got ${value}`),
  );
});
