import { MemoryOutboxStore } from '@postcommit/store-memory';
import { afterEach, describe, expect, test } from 'vitest';
import type { OutboxEntry } from '../../src/message/outbox-row.js';
import { OutboxStore } from '../../src/store/outbox-store.js';
import type { OutboxWorker, WorkerOptions } from '../../src/worker/outbox-worker.js';
import { deferred, entries, FaultyStore, listen, openOutbox } from '../outbox-fixture.js';

const workers: OutboxWorker[] = [];

afterEach(async () => {
  await Promise.all(workers.splice(0).map((worker) => worker.stop()));
});

/** A running worker, and when it tried which row. `publish` fails or takes its time as the test says. */
function run(publish: (id: string) => Promise<void> = async () => {}, options: WorkerOptions = {}) {
  const { clock, store, worker } = openOutbox({}, (all, clock) => new FaultyStore(all, clock));
  const tries: Array<readonly [string, number]> = [];
  const running = worker(async ({ id }) => {
    tries.push([id, clock.monotonicMs()]);
    await publish(id);
  }, options);
  workers.push(running);
  running.start();
  const later = (inMs: number, ...rows: OutboxEntry[]): OutboxEntry[] =>
    rows.map((entry) => ({ ...entry, availableAt: new Date(clock.now() + inMs) }));
  const statements = (): number => store.calls.length;
  return { clock, store, tries, later, statements, worker: running };
}

describe('a worker with nothing to do', () => {
  test.each([0, 350, 700, 1_050])(
    'publishes a row for later at its time, scheduled by its own process after %i ms',
    async (afterMs) => {
      const { clock, store, tries, later } = run();
      await clock.advance(3_000 + afterMs);
      await store.enqueue(later(1_500, ...entries('x1')));
      await clock.advance(2_000);
      expect(tries).toEqual([['x1', 4_500 + afterMs]]);
    },
  );

  test.each([0, 350, 700, 1_050])('or by another process, without a hint, after %i ms', async (afterMs) => {
    const { clock, store, tries, later } = run();
    await clock.advance(3_000 + afterMs);
    await unheard(store, () => store.enqueue(later(1_500, ...entries('A1'))));
    await clock.advance(2_000);
    expect(tries).toEqual([['A1', 4_500 + afterMs]]);
  });

  test('asks again after a hint, however young the last answer is', async () => {
    const { clock, store, tries, later } = run();
    await clock.advance(5_000);
    const asked = store.timesOf('lookAhead').length;
    while (store.timesOf('lookAhead').length === asked) await clock.advance(1);
    await store.enqueue(later(150, ...entries('x1')));
    const enqueuedAtMs = clock.monotonicMs();
    await clock.advance(200);
    expect(tries).toEqual([['x1', enqueuedAtMs + 150]]);
  });

  test('publishes rows that fall due one after another, each at its time', async () => {
    const { clock, store, tries, later } = run();
    await clock.advance(2_500);
    for (const [index, entry] of entries('x1', 'A1', 'x2').entries())
      await store.enqueue(later(2_000 + 700 * index, entry));
    await clock.advance(5_000);
    expect(tries).toEqual([
      ['x1', 4_500],
      ['A1', 5_200],
      ['x2', 5_900],
    ]);
  });

  test.each([100, 1_500, 2_300])('retries a row after %i ms, if that is its backoff', async (delayMs) => {
    const backoff = { type: 'fixed', delayMs } as const;
    const { clock, store, tries } = run(() => Promise.reject(new Error('no')), { backoff, maxAttempts: 4 });
    await clock.advance(5_000);
    await store.enqueue(entries('x1'));
    await clock.advance(10_000);
    const [first = 0, ...others] = tries.map(([, atMs]) => atMs);
    // A delay shorter than the worker's own waits is late by no more than 40 ms.
    const lateBy = others.map((atMs, index) => atMs - (first + (index + 1) * delayMs));
    expect(others).toHaveLength(3);
    expect(Math.max(...lateBy)).toBeLessThanOrEqual(delayMs > 1_000 ? 0 : 3 * 40);
  });

  test('retries a row on time although it failed while the worker was asleep', async () => {
    const backoff = { type: 'fixed', delayMs: 200 } as const;
    const { clock, store, tries } = run(() => fails(clock.wait(3_000)), { backoff, maxAttempts: 2 });
    await store.enqueue(entries('x1'));
    await clock.advance(8_000);
    const [first, second] = tries.map(([, atMs]) => atMs);
    expect(second).toBe((first ?? 0) + 3_200);
  });

  test('sends at most two statements a second', async () => {
    const { clock, store, statements, later } = run();
    await store.enqueue(later(3_600_000, ...entries('x1', 'A1')));
    await clock.advance(5_000);
    const before = statements();
    await clock.advance(60_000);
    expect(statements() - before).toBeLessThanOrEqual(120);
    expect(store.timesOf('lookAhead').length).toBeGreaterThan(55);
  });

  test('asks at most three times after a hint, before it is idle again', async () => {
    const { clock, store } = run();
    await clock.advance(5_100);
    await store.enqueue(entries('x1'));
    await clock.advance(1_000);
    expect(store.timesOf('lookAhead').filter((atMs) => atMs >= 5_100).length).toBeLessThanOrEqual(3);
  });

  test('does not wake for each of many rows that fall due behind a blocked key', async () => {
    const { clock, store, statements, later, tries } = run();
    await store.enqueue(later(3_600_000, ...entries('A0')));
    for (let index = 1; index <= 2_000; index++)
      await store.enqueue(later(5_000 + 5 * index, ...entries(`A${index}`)));
    await clock.advance(5_000);
    const before = statements();
    await clock.advance(10_000);
    expect(statements() - before).toBeLessThanOrEqual(2 * 10 + 2 * 10);
    expect(tries).toEqual([]);
  });
});

describe('the question when the next row falls due', () => {
  test('is not asked while rows are found, nor for short waits', async () => {
    const { clock, store } = run(undefined, { pollIntervalMs: 40 });
    await clock.advance(1_000);
    // Only before the first claim: which topics are paused.
    expect(store.timesOf('lookAhead')).toEqual([0]);
    expect(store.timesOf('fetchPending').length).toBeGreaterThan(20);
  });

  test('that is not answered changes nothing: the worker polls, and stops', async () => {
    const { clock, store, tries, later, worker } = run();
    store.before.lookAhead = () => new Promise(() => {});
    await store.enqueue(later(1_500, ...entries('x1')));
    await clock.advance(4_500);
    expect(tries).toHaveLength(1);
    expect(tries[0]?.[1]).toBeLessThanOrEqual(2_500);
    let isStopped = false;
    const stopping = worker.stop().then(() => {
      isStopped = true;
    });
    await clock.idle();
    expect(isStopped).toBe(true);
    await stopping;
  });

  test('that is answered late, after a stop, starts nothing', async () => {
    const { clock, store, worker, later } = run();
    const answer = deferred();
    store.after.lookAhead = () => answer.promise;
    await store.enqueue(later(2_000, ...entries('x1')));
    await clock.advance(600);
    const stopping = worker.stop();
    answer.resolve();
    await clock.idle();
    await stopping;
    const before = store.timesOf('fetchPending').length;
    await clock.advance(5_000);
    expect(store.timesOf('fetchPending')).toHaveLength(before);
  });

  test('that is answered during a stop does not extend its grace period', async () => {
    const { clock, store, worker } = run(() => new Promise(() => {}));
    await store.enqueue(entries('x1'));
    await clock.advance(3_000);
    const answer = deferred();
    store.lookAhead = () => answer.promise.then(() => ({ nextDueInMs: 100, pausedTopics: [] }));
    await clock.advance(1_000);
    let abandoned: string[] | undefined;
    const stopping = worker.stop({ graceMs: 1_000 }).then((ids) => {
      abandoned = ids;
    });
    await clock.idle();
    answer.resolve();
    await clock.advance(999);
    expect(abandoned).toBeUndefined();
    await clock.advance(1);
    expect(abandoned).toEqual(['x1']);
    await stopping;
  });

  test('is asked again if a row failed before the answer came', async () => {
    const ended = deferred();
    const backoff = { type: 'fixed', delayMs: 300 } as const;
    const { clock, store, tries } = run(() => fails(ended.promise), { backoff, maxAttempts: 2 });
    await store.enqueue(entries('x1'));
    await clock.advance(3_000);
    const answer = deferred();
    store.after.lookAhead = () => answer.promise;
    // Until the next question is under way.
    const asked = store.timesOf('lookAhead').length;
    while (store.timesOf('lookAhead').length === asked) await clock.advance(10);
    ended.resolve();
    await clock.idle();
    delete store.after.lookAhead;
    answer.resolve();
    const failedAtMs = clock.monotonicMs();
    await clock.advance(1_000);
    expect(tries.map(([, atMs]) => atMs).at(-1)).toBe(failedAtMs + 300);
  });

  test('that fails is reported, and the worker polls', async () => {
    const { clock, store, worker } = run();
    const heard = listen(worker.events, 'trouble');
    store.before.lookAhead = () => Promise.reject(new Error('no such index'));
    await clock.advance(4_500);
    expect(store.timesOf('fetchPending')).toEqual([0, 20, 60, 140, 300, 620, 1_260, 2_260, 3_260, 4_260]);
    expect(heard.length).toBeGreaterThan(2);
    expect(String(heard[0]?.told.error)).toContain('no such index');
  });

  test('that a store does not know is undefined: the worker polls as if there were none', async () => {
    const { clock, store, tries, later } = run();
    store.lookAhead = OutboxStore.prototype.lookAhead;
    await store.enqueue(later(1_500, ...entries('x1')));
    await clock.advance(4_500);
    expect(tries).toHaveLength(1);
  });
});

async function fails(after: Promise<void>): Promise<void> {
  await after;
  throw new Error('no');
}

/** Enqueues as another process would: no listener of this store hears of it. */
async function unheard(store: FaultyStore, enqueue: () => Promise<unknown>): Promise<void> {
  const announce = Reflect.get(MemoryOutboxStore.prototype, 'announce') as unknown;
  Reflect.set(store, 'announce', () => {});
  await enqueue();
  Reflect.set(store, 'announce', announce);
}
