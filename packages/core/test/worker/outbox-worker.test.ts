import { seededRandom } from '@postcommit/store-memory';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { TransientError } from '../../src/message/errors.js';
import type { OutboxEntry, OutboxRow } from '../../src/message/outbox-row.js';
import type { Outcome } from '../../src/message/outcome.js';
import type { OutboxInterceptor } from '../../src/observe/interceptors.js';
import type { OutboxPublisher, PublishFunction } from '../../src/publish/outbox-publisher.js';
import type { HintKind, OutboxWakeup } from '../../src/store/outbox-wakeup.js';
import { OutboxWorker, type WorkerOptions } from '../../src/worker/outbox-worker.js';
import {
  type CountingClock,
  deferred,
  entries,
  FaultyStore,
  listen,
  ManualPublisher,
  ManualWakeup,
  openOutbox,
  refusal,
  scripted,
} from '../outbox-fixture.js';

interface RunningOutbox {
  readonly clock: CountingClock;
  readonly store: FaultyStore;
  readonly row: (id: string) => Promise<OutboxRow>;
  /** Makes a worker that the end of the test stops. */
  worker(publisher: OutboxPublisher | PublishFunction, options?: WorkerOptions): OutboxWorker;
}

const workers: OutboxWorker[] = [];

afterEach(async () => {
  await Promise.all(workers.splice(0).map((worker) => worker.stop()));
});

function open(options: { claimTimeoutMs?: number } = {}): RunningOutbox {
  const outbox = openOutbox(options, (all, clock) => new FaultyStore(all, clock));
  return {
    ...outbox,
    worker: (publisher, workerOptions) => {
      const worker = outbox.worker(publisher, workerOptions);
      workers.push(worker);
      return worker;
    },
  };
}

function numbered(count: number): OutboxEntry[] {
  return entries(...Array.from({ length: count }, (_, index) => `x${index + 1}`));
}

function never(): Promise<never> {
  return new Promise(() => {});
}

/** Lets every publish that runs succeed, and those that follow, until none is left. */
async function finish(publisher: ManualPublisher, clock: CountingClock): Promise<void> {
  await clock.idle();
  while (publisher.running.length > 0) {
    for (const id of publisher.running) publisher.succeed(id);
    await clock.idle();
  }
}

describe('a worker drains a backlog', () => {
  test('of many batches, publishing each row once', async () => {
    const { store, clock, worker } = open();
    await store.enqueue(numbered(95));
    const publisher = scripted();
    const running = worker(publisher, { batchSize: 10 });
    const batches = listen(running.events, 'batch');
    running.start();
    await clock.idle();
    expect(new Set(publisher.published).size).toBe(95);
    expect(publisher.published).toHaveLength(95);
    expect(await store.count()).toMatchObject({ dispatched: 95, pending: 0 });
    expect(batches.reduce((sum, { told }) => sum + told.dispatched, 0)).toBe(95);
  });

  test('in order, with one publish at a time', async () => {
    const { store, clock, worker } = open();
    const rows = numbered(20);
    await store.enqueue(rows);
    const published: string[] = [];
    const publish = async ({ id }: OutboxRow): Promise<void> => {
      await clock.wait(Number(id.slice(1)) % 3);
      published.push(id);
    };
    worker(publish, { batchSize: 3, batchesInFlight: 3 }).start();
    await clock.advance(100);
    expect(published).toEqual(rows.map(({ id }) => id));
  });

  test('and claims the next batch while the previous one is settled', async () => {
    const { store, clock, worker } = open();
    await store.enqueue(numbered(4));
    const settled = deferred();
    store.before.settle = () => settled.promise;
    const publisher = scripted();
    worker(publisher, { batchSize: 2 }).start();
    await clock.idle();
    expect(publisher.published).toEqual(['x1', 'x2', 'x3', 'x4']);
    expect(await store.count()).toMatchObject({ dispatched: 0 });
    settled.resolve();
    await clock.idle();
    expect(await store.count()).toMatchObject({ dispatched: 4 });
  });

  test.each([1, 2, 3])('with at most %i batches in flight', async (batchesInFlight) => {
    const { store, clock, worker } = open();
    await store.enqueue(numbered(10));
    const publisher = new ManualPublisher();
    const running = worker(publisher, { batchSize: 2, batchesInFlight, concurrency: 10 });
    running.start();
    await clock.advance(10_000);
    expect(publisher.started).toHaveLength(2 * batchesInFlight);
    expect(await running.health()).toMatchObject({ rowsInFlight: 2 * batchesInFlight });
    publisher.succeed('x1');
    await clock.advance(10_000);
    expect(publisher.started).toHaveLength(2 * batchesInFlight);
    publisher.succeed('x2');
    await clock.idle();
    expect(publisher.started).toHaveLength(2 * batchesInFlight + 2);
    await finish(publisher, clock);
    expect(await store.count()).toMatchObject({ dispatched: 10 });
  });

  test('with about as many bytes in flight as allowed', async () => {
    const { store, clock, worker } = open();
    const heavy = numbered(12).map((entry) => ({ ...entry, payload: 'x'.repeat(100_000) }));
    await store.enqueue(heavy);
    const publisher = new ManualPublisher();
    const options = { batchSize: 4, batchesInFlight: 10, concurrency: 20, maxBytesInFlight: 500_000 };
    worker(publisher, options).start();
    await clock.advance(10_000);
    // Four, and one more: the bound is passed by less than a row.
    expect(publisher.running).toHaveLength(5);
    for (let round = 0; publisher.running.length > 0; round++) {
      expect(publisher.running.length).toBeLessThanOrEqual(5);
      publisher.succeed(publisher.running[round % publisher.running.length] as string);
      await clock.idle();
    }
    expect(publisher.started).toHaveLength(12);
  });

  test('including a row larger than the limit', async () => {
    const { store, clock, worker } = open();
    await store.enqueue(numbered(3).map((entry) => ({ ...entry, payload: 'x'.repeat(10_000) })));
    const publisher = scripted();
    worker(publisher, { maxBytesInFlight: 100 }).start();
    await clock.idle();
    expect(publisher.published).toEqual(['x1', 'x2', 'x3']);
  });

  test('with one claim at a time', async () => {
    const { store, clock, worker } = open();
    await store.enqueue(numbered(12));
    let claims = 0;
    let mostClaims = 0;
    store.before.fetchPending = () => {
      claims += 1;
      mostClaims = Math.max(mostClaims, claims);
      return clock.wait(7);
    };
    store.after.fetchPending = () => {
      claims -= 1;
    };
    const publisher = { publish: () => clock.wait(3) };
    const wakeup = new ManualWakeup();
    worker(publisher, { batchSize: 2, batchesInFlight: 5, concurrency: 4, wakeup }).start();
    for (let step = 0; step < 200; step++) {
      wakeup.hint();
      await clock.advance(1);
    }
    expect(await store.count()).toMatchObject({ dispatched: 12 });
    expect(mostClaims).toBe(1);
    const stopping = workers[0]?.stop();
    await clock.advance(10);
    await stopping;
  });

  test('with one concurrency limit for all batches', async () => {
    const { store, clock, worker } = open();
    await store.enqueue(numbered(12));
    const publisher = new ManualPublisher();
    worker(publisher, { batchSize: 2, batchesInFlight: 4, concurrency: 3 }).start();
    await finish(publisher, clock);
    expect(publisher.started).toHaveLength(12);
    expect(publisher.mostAtOnce).toBe(3);
  });

  test('with one row at a time for each key, in order, across batches', async () => {
    const { store, clock, worker } = open();
    await store.enqueue(entries('A1', 'B1', 'A2', 'A3', 'B2', 'A4', 'x1'));
    const publisher = new ManualPublisher();
    worker(publisher, { batchSize: 2, batchesInFlight: 4, concurrency: 8 }).start();
    await clock.idle();
    while (publisher.running.length > 0) {
      expect(publisher.running.filter((id) => id.startsWith('A')).length).toBeLessThanOrEqual(1);
      expect(publisher.running.filter((id) => id.startsWith('B')).length).toBeLessThanOrEqual(1);
      publisher.succeed(publisher.running.at(-1) as string);
      await clock.idle();
    }
    expect(publisher.started.filter((id) => id.startsWith('A'))).toEqual(['A1', 'A2', 'A3', 'A4']);
    expect(publisher.started.filter((id) => id.startsWith('B'))).toEqual(['B1', 'B2']);
    expect(publisher.started).toContain('x1');
  });

  test('although one row always fails', async () => {
    const { store, clock, worker, row } = open();
    await store.enqueue(entries('x1', 'A1', 'A2', 'x2'));
    const failures = { x1: new Error('no'), A1: new Error('no') };
    const publisher = scripted(failures);
    worker(publisher, { maxAttempts: 3, backoff: { type: 'fixed', delayMs: 1_000 } }).start();
    await clock.advance(10_000);
    expect(await store.count()).toMatchObject({ dispatched: 2, dead: 2 });
    expect(await row('x1')).toMatchObject({ attempts: 3, deadReason: 'exhausted' });
    expect(publisher.published.indexOf('A2')).toBeGreaterThan(publisher.published.lastIndexOf('A1'));
  });
});

describe('a row that fails in the worker without a backoff', () => {
  /** Runs for three seconds, and returns when each try of x1 began. */
  async function triesOfX1(
    options: WorkerOptions,
    { error = new Error('no'), also }: { error?: unknown; also?: Partial<OutboxEntry> } = {},
  ): Promise<number[]> {
    const { store, clock, worker } = open();
    const tries: number[] = [];
    await store.enqueue(entries('x1').map((entry) => ({ ...entry, ...also })));
    const failing = worker(async ({ id }) => {
      if (id !== 'x1') return;
      tries.push(clock.monotonicMs());
      throw error;
    }, options);
    failing.start();
    for (let enqueued = 0; enqueued < 300; enqueued++) {
      await store.enqueue({ topic: 'order.paid', payload: {} });
      await clock.advance(10);
    }
    return tries;
  }

  const waitsBetween = (tries: readonly number[]): number[] =>
    tries.slice(1).map((at, index) => at - (tries[index] ?? 0));

  test('waits one poll interval, however much other traffic there is', async () => {
    const tries = await triesOfX1({ pollIntervalMs: 500 });
    expect(tries.length).toBeGreaterThanOrEqual(5);
    expect(tries.length).toBeLessThanOrEqual(6);
    for (const wait of waitsBetween(tries)) expect(wait).toBeGreaterThanOrEqual(500);
  });

  test('keeps a longer wait that the receiver asked for, and is not hammered for a shorter one', async () => {
    const asking = (retryAfterMs: number) => ({ error: new TransientError('busy', retryAfterMs) });
    expect(await triesOfX1({ pollIntervalMs: 500 }, asking(1_400))).toHaveLength(3);
    expect((await triesOfX1({ pollIntervalMs: 500 }, asking(20))).length).toBeLessThanOrEqual(6);
  });

  test('keeps a shorter backoff, whether it is configured or its own', async () => {
    const backoff = { type: 'fixed', delayMs: 100 } as const;
    expect((await triesOfX1({ backoff })).length).toBeGreaterThanOrEqual(20);
    expect((await triesOfX1({}, { also: { retry: { backoff } } })).length).toBeGreaterThanOrEqual(20);
  });

  test('holds its key back meanwhile', async () => {
    const { store, clock, worker } = open();
    await store.enqueue(entries('A1', 'A2', 'x1'));
    const published: string[] = [];
    let isBroken = true;
    worker(async ({ id }) => {
      if (id === 'A1' && isBroken) throw new Error('no');
      published.push(id);
    }).start();
    await clock.advance(900);
    expect(published).toEqual(['x1']);
    isBroken = false;
    await clock.advance(2_000);
    expect(published).toEqual(['x1', 'A1', 'A2']);
  });

  test('is due at once for a dispatcher: its next call is the next try', async () => {
    const { store, dispatcher } = openOutbox();
    await store.enqueue(entries('x1'));
    const { publish, published } = scripted({ x1: new Error('no') });
    const trying = dispatcher(publish);
    await trying.dispatchPending();
    await trying.dispatchPending();
    expect(published).toEqual(['x1', 'x1']);
  });
});

describe('a worker that polls', () => {
  test('waits longer each time while nothing is due, up to the poll interval', async () => {
    const { store, clock, worker } = open();
    worker(scripted()).start();
    await clock.advance(4_500);
    expect(store.timesOf('fetchPending')).toEqual([0, 20, 60, 140, 300, 620, 1_260, 2_260, 3_260, 4_260]);
  });

  test('never waits longer than a short poll interval', async () => {
    const { store, clock, worker } = open();
    worker(scripted(), { pollIntervalMs: 30 }).start();
    await clock.advance(120);
    expect(store.timesOf('fetchPending')).toEqual([0, 20, 50, 80, 110]);
  });

  test.each([
    ['starts over with short waits after all that was due', entries('x1'), 2, [2_000, 2_020, 2_060, 2_140]],
    ['looks again at once after a full batch', entries('x1'), 1, [2_000, 2_000, 2_020, 2_060, 2_140]],
    [
      'looks again at once after rows with keys, and when these are settled',
      entries('A1'),
      2,
      [2_000, 2_000, 2_000, 2_040, 2_120],
    ],
  ])('%s', async (_, due, batchSize, times) => {
    const { store, clock, worker } = open();
    const availableAt = new Date(clock.now() + 2_000);
    await store.enqueue(due.map((entry) => ({ ...entry, availableAt })));
    worker(scripted(), { batchSize }).start();
    await clock.advance(2_140);
    expect(store.timesOf('fetchPending').filter((atMs) => atMs >= 2_000)).toEqual(times);
  });

  test('takes over the rows of a crashed process, one by one, without a pause', async () => {
    const { store, clock, worker } = open();
    await store.enqueue(numbered(5));
    await store.fetchPending(5);
    await clock.advance(store.claimTimeoutMs);
    const publisher = scripted();
    worker(publisher).start();
    await clock.idle();
    expect(publisher.published).toEqual(['x1', 'x2', 'x3', 'x4', 'x5']);
  });

  test('polls again after a batch with rows to retry', async () => {
    const { store, clock, worker } = open();
    await store.enqueue(entries('x1', 'x2'));
    const publisher = new ManualPublisher();
    worker(publisher, { concurrency: 2, backoff: { type: 'fixed', delayMs: 0 } }).start();
    await clock.advance(1_000);
    publisher.fail('x1', new Error('no'));
    publisher.succeed('x2');
    await clock.idle();
    expect(publisher.running).toEqual(['x1']);
    await finish(publisher, clock);
  });

  test('polls in a burst after a hint, then less and less often', async () => {
    const { store, clock, worker } = open();
    const wakeup = new ManualWakeup();
    worker(scripted(), { wakeup }).start();
    await clock.advance(3_500);
    wakeup.hint();
    await clock.advance(500);
    const since = store.timesOf('fetchPending').filter((atMs) => atMs >= 3_500);
    expect(since.map((atMs) => atMs - 3_500)).toEqual([
      0, 1, 3, 6, 9, 12, 15, 18, 21, 24, 27, 37, 87, 187, 287, 307, 347, 427,
    ]);
  });

  test('does not lose a hint that arrives during a poll', async () => {
    const { store, clock, worker } = open();
    const wakeup = new ManualWakeup();
    worker(scripted(), { wakeup }).start();
    await clock.advance(3_000);
    const answer = deferred();
    store.after.fetchPending = () => answer.promise;
    await clock.advance(500);
    expect(store.timesOf('fetchPending').at(-1)).toBe(3_260);
    wakeup.hint();
    delete store.after.fetchPending;
    answer.resolve();
    await clock.advance(10);
    const since = store.timesOf('fetchPending').filter((atMs) => atMs >= 3_500);
    expect(since).toEqual([3_501, 3_503, 3_506, 3_509]);
  });

  test('does not lose the end of a batch during a poll: it may have freed a key', async () => {
    const { store, clock, worker } = open();
    await store.enqueue(entries('A1', 'A2'));
    const publisher = new ManualPublisher();
    worker(publisher, { batchSize: 1, batchesInFlight: 2 }).start();
    const answer = deferred();
    // The first claim returns A1; the second finds its key claimed, and its answer is late.
    store.after.fetchPending = () =>
      store.timesOf('fetchPending').length === 2 ? answer.promise : undefined;
    await clock.idle();
    publisher.succeed('A1');
    await clock.idle();
    answer.resolve();
    await clock.idle();
    expect(publisher.running).toEqual(['A2']);
    expect(clock.monotonicMs(), 'without any wait').toBe(0);
    await finish(publisher, clock);
  });

  test('does not busy-loop on many hints', async () => {
    const { store, clock, worker } = open();
    const wakeup = new ManualWakeup();
    worker(scripted(), { wakeup }).start();
    await clock.advance(3_500);
    for (let step = 0; step < 100; step++) {
      for (let hint = 0; hint < 50; hint++) wakeup.hint();
      await clock.advance(1);
    }
    const during = store.timesOf('fetchPending').filter((atMs) => atMs >= 3_500);
    expect(during.length).toBeGreaterThan(25);
    expect(during.length).toBeLessThanOrEqual(51);
    expect(new Set(during).size).toBe(during.length);
  });

  test('is woken by an enqueue in its own process', async () => {
    const { store, clock, worker } = open();
    const publisher = scripted();
    worker(publisher).start();
    await clock.advance(3_500);
    await store.enqueue(numbered(1));
    await clock.idle();
    expect(publisher.published).toEqual(['x1']);
  });

  test.each([
    [1, 3_503],
    [80, 3_587],
    [280, 3_787],
  ])('even if its transaction commits %i ms after the hint', async (commitMs, seenAtMs) => {
    const { store, clock, worker } = open();
    const publishedAtMs: number[] = [];
    worker(async () => publishedAtMs.push(clock.monotonicMs())).start();
    await clock.advance(3_500);
    const tx = store.begin();
    await store.enqueueWith(tx, numbered(1));
    await clock.advance(commitMs);
    expect(publishedAtMs).toEqual([]);
    tx.commit();
    await clock.advance(300 - commitMs);
    expect(publishedAtMs).toEqual([seenAtMs]);
  });

  test('does not claim on hints while there is no room, and continues when there is', async () => {
    const { store, clock, worker } = open();
    const publisher = new ManualPublisher();
    worker(publisher, { batchSize: 1, batchesInFlight: 1 }).start();
    await store.enqueue(numbered(2));
    await clock.idle();
    const before = store.timesOf('fetchPending').length;
    await store.enqueue({ topic: 'order.paid', payload: {}, id: 'x3' });
    await clock.advance(5_000);
    expect(store.timesOf('fetchPending')).toHaveLength(before);
    await finish(publisher, clock);
    expect(publisher.started).toEqual(['x1', 'x2', 'x3']);
  });
});

describe('a wake-up', () => {
  test('wakes the worker for an enqueue in another process', async () => {
    const { store, clock, worker } = open();
    const wakeup = new ManualWakeup();
    const publisher = scripted();
    vi.spyOn(store, 'onEnqueue').mockReturnValue(() => {});
    worker(publisher, { wakeup }).start();
    await clock.advance(3_500);
    await store.enqueue(numbered(1));
    await clock.idle();
    expect(publisher.published).toEqual([]);
    wakeup.hint();
    await clock.idle();
    expect(publisher.published).toEqual(['x1']);
  });

  test.each<[HintKind | undefined, number]>([
    ['commit', 3],
    ['burst', 10],
    [undefined, 10],
  ])('of the kind %s is followed by as many looks as rows may have come', async (kind, looks) => {
    const { store, clock, worker } = open();
    const wakeup = new ManualWakeup();
    worker(scripted(), { wakeup }).start();
    await clock.advance(3_500);
    const before = store.timesOf('fetchPending').length;
    wakeup.hint(kind);
    await clock.advance(25);
    expect(store.timesOf('fetchPending')).toHaveLength(before + looks);
  });

  test('for a commit during a look is followed by another look', async () => {
    const { store, clock, worker } = open();
    const wakeup = new ManualWakeup();
    const publisher = scripted();
    vi.spyOn(store, 'onEnqueue').mockReturnValue(() => {});
    worker(publisher, { wakeup }).start();
    await clock.advance(3_500);
    const look = deferred();
    store.after.fetchPending = () => look.promise;
    await store.enqueue(numbered(1));
    wakeup.hint('commit');
    await clock.idle();
    await store.enqueue({ topic: 'order.paid', payload: {}, id: 'x2' });
    wakeup.hint('commit');
    look.resolve();
    await clock.advance(1);
    expect(publisher.published).toEqual(['x1', 'x2']);
  });

  test('reports whether it listens, as an event and in the health', async () => {
    const { worker } = open();
    const wakeup = new ManualWakeup();
    const running = worker(scripted(), { wakeup });
    const told = listen(running.events, 'wakeup');
    running.start();
    expect(await running.health()).toMatchObject({ isListening: false, pollingReason: 'not listening yet' });
    wakeup.emit({ isListening: true });
    const listening = await running.health();
    expect(listening).toMatchObject({ isListening: true, status: 'up' });
    expect(listening).not.toHaveProperty('pollingReason');
    const error = new Error('connection lost');
    wakeup.emit({ isListening: false, error, willRetry: true });
    expect(await running.health()).toMatchObject({
      isListening: false,
      pollingReason: 'connection lost',
      status: 'up',
    });
    expect(told.map((one) => one.told)).toEqual([
      { isListening: true, pollIntervalMs: 1_000 },
      { isListening: false, pollIntervalMs: 1_000, error, willRetry: true },
    ]);
    wakeup.emit({ isListening: true });
    await running.stop();
    const stopped = await running.health();
    expect(stopped).toMatchObject({ isListening: false });
    expect(stopped).not.toHaveProperty('pollingReason');
  });

  test('that is missing is reported once, at the start', async () => {
    const { clock, worker } = open();
    const running = worker(scripted(), { pollIntervalMs: 250 });
    const told = listen(running.events, 'wakeup');
    running.start();
    await clock.advance(60_000);
    expect(told.map((one) => one.told)).toEqual([{ isListening: false, pollIntervalMs: 250 }]);
  });

  test('is unsubscribed by a stop, which waits for it, and subscribed again by a start', async () => {
    const { store, clock, worker } = open();
    const ended = deferred();
    const wakeup = new ManualWakeup();
    const slow: OutboxWakeup = {
      subscribe: (listener) => {
        const end = wakeup.subscribe(listener);
        return () => ended.promise.then(end);
      },
    };
    const running = worker(scripted(), { wakeup: slow });
    running.start();
    let isStopped = false;
    const stopping = running.stop().then(() => {
      isStopped = true;
    });
    await clock.idle();
    expect(isStopped).toBe(false);
    ended.resolve();
    await stopping;
    expect(wakeup.listeners.size).toBe(0);
    const polls = store.timesOf('fetchPending').length;
    await store.enqueue(numbered(1));
    await clock.advance(5_000);
    expect(store.timesOf('fetchPending')).toHaveLength(polls);
    running.start();
    expect(wakeup.listeners.size).toBe(1);
  });

  test('that fails or hangs while unsubscribing does not block a stop', async () => {
    const { clock, worker } = open();
    const failing = worker(scripted(), {
      wakeup: { subscribe: () => () => Promise.reject(new Error('no')) },
    });
    failing.start();
    expect(await failing.stop()).toEqual([]);
    const hanging = worker(scripted(), { wakeup: { subscribe: () => never } });
    hanging.start();
    const stopping = hanging.stop({ graceMs: 100 });
    await clock.advance(6_000);
    expect(await stopping).toEqual([]);
  });
});

describe('a database that goes away', () => {
  test('is retried after growing delays with jitter, and never at once', async () => {
    const { store, clock, worker } = open();
    const random = seededRandom(7);
    const running = worker(scripted(), { random });
    const heard = listen(running.events, 'trouble', 'recovered');
    store.goAway();
    running.start();
    await clock.advance(60_000);
    const waits = heard.map(({ told }) => ('retryInMs' in told ? told.retryInMs : Number.NaN));
    const longest = [100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000, 5_000, 5_000];
    for (const [place, longestMs] of longest.entries()) {
      expect(waits[place]).toBeGreaterThanOrEqual(longestMs / 2);
      expect(waits[place]).toBeLessThanOrEqual(longestMs);
    }
    expect(new Set(waits.slice(6)).size).toBeGreaterThan(1);
    // Before its first claim, the worker asks which topics are paused.
    const polls = store.timesOf('lookAhead');
    expect(polls.slice(1).map((atMs, place) => atMs - (polls[place] ?? 0))).toEqual(
      waits.slice(0, polls.length - 1),
    );
    expect(polls.length).toBeLessThan(30);
    expect(heard[0]?.told).toMatchObject({ error: new Error('database is away') });
  });

  test.each([
    ['shortest', 0, [0, 50, 150, 350, 750]],
    ['longest', 1 - Number.EPSILON, [0, 100, 300, 700, 1_500]],
  ])('with the %s delays that the jitter allows', async (_name, drawn, times) => {
    const { store, clock, worker } = open();
    store.goAway();
    worker(scripted(), { random: () => drawn }).start();
    await clock.advance(1_500);
    expect(store.timesOf('lookAhead').slice(0, 5)).toEqual(times);
    store.comeBack();
  });

  test('is not retried earlier because of hints', async () => {
    const { store, clock, worker } = open();
    const wakeup = new ManualWakeup();
    worker(scripted(), { wakeup, random: () => 0 }).start();
    await clock.advance(3_250);
    store.goAway();
    await clock.advance(10);
    for (let step = 0; step < 150; step++) {
      wakeup.hint();
      await clock.advance(1);
    }
    expect(store.timesOf('fetchPending').filter((atMs) => atMs > 3_000)).toEqual([3_260, 3_310, 3_410]);
    store.comeBack();
  });

  test('and comes back: the worker reports it and continues, and nothing is lost', async () => {
    const { store, clock, worker } = open();
    await store.enqueue(numbered(30));
    const publisher = scripted();
    const running = worker(publisher, { batchSize: 5, random: () => 0.5 });
    const heard = listen(running.events, 'trouble', 'recovered');
    store.goAway();
    running.start();
    await clock.advance(1_000);
    expect(await running.health()).toMatchObject({ status: 'down', error: 'database is away' });
    store.comeBack();
    await clock.advance(5_000);
    expect(await store.count()).toMatchObject({ dispatched: 30 });
    expect(publisher.published).toHaveLength(30);
    expect(heard.at(-1)).toEqual({ signal: 'recovered', told: { afterMs: expect.any(Number) } });
    expect(heard.filter(({ signal }) => signal === 'recovered')).toHaveLength(1);
    const [first] = store.timesOf('lookAhead');
    const recovered = heard.at(-1)?.told;
    expect(store.timesOf('fetchPending')).toContain(
      (first ?? 0) + (recovered as { afterMs: number }).afterMs,
    );
    expect(await running.health()).toMatchObject({ status: 'up' });
    expect(await running.health()).not.toHaveProperty('error');
  });

  test('the delays start over after it came back', async () => {
    const { store, clock, worker } = open();
    const running = worker(scripted(), { random: () => 0 });
    const heard = listen(running.events, 'trouble');
    store.goAway();
    running.start();
    await clock.advance(300);
    store.comeBack();
    await clock.advance(5_000);
    store.goAway();
    await clock.advance(1_100);
    const waits = heard.map(({ told }) => told.retryInMs);
    expect(waits.slice(0, 4)).toEqual([50, 100, 200, 50]);
    store.comeBack();
  });

  test('while a batch is published: the batch continues, is recorded later, and is published once', async () => {
    const { store, clock, worker } = open({ claimTimeoutMs: 60_000 });
    await store.enqueue(numbered(3));
    const publisher = new ManualPublisher();
    const running = worker(publisher, { concurrency: 3 });
    const heard = listen(running.events, 'trouble');
    running.start();
    await clock.idle();
    store.goAway();
    for (const id of ['x1', 'x2', 'x3']) publisher.succeed(id);
    await clock.advance(30_000);
    expect(await store.count()).toMatchObject({ dispatched: 0 });
    expect(heard.map(({ told }) => told.retryInMs)).toEqual(
      expect.arrayContaining([50, 100, 200, 400, 800, 1_600, 2_000]),
    );
    store.comeBack();
    await clock.advance(5_000);
    expect(await store.count()).toMatchObject({ dispatched: 3 });
    expect(publisher.started).toEqual(['x1', 'x2', 'x3']);
  });

  test('for longer than a claim lasts: published rows are published again, by the next owner', async () => {
    const { store, clock, worker } = open({ claimTimeoutMs: 60_000 });
    await store.enqueue(numbered(2));
    const publisher = scripted();
    const running = worker(publisher, { random: () => 0.5 });
    const retaken = listen(running.events, 'retaken');
    const troubles = listen(running.events, 'trouble');
    store.after.fetchPending = () => {
      delete store.after.fetchPending;
      store.goAway();
    };
    running.start();
    await clock.advance(120_000);
    expect(publisher.published).toEqual(['x1', 'x2']);
    expect(troubles.filter(({ told }) => told.retryInMs === 0)).toHaveLength(1);
    store.comeBack();
    await clock.advance(10_000);
    expect(publisher.published).toEqual(['x1', 'x2', 'x1', 'x2']);
    expect(await store.count()).toMatchObject({ dispatched: 2 });
    expect(retaken.map(({ told }) => [told.row.id, told.row.retakes])).toEqual([
      ['x1', 1],
      ['x2', 1],
    ]);
    expect(await running.health()).toMatchObject({ rowsInFlight: 0 });
  });

  test('after it ran a settle but before it answered: nothing is published twice', async () => {
    const { store, clock, worker } = open();
    await store.enqueue(numbered(2));
    const publisher = scripted({ x2: new Error('busy') });
    const running = worker(publisher, { backoff: { type: 'fixed', delayMs: 600_000 } });
    let losses = 2;
    store.after.settle = () => {
      losses -= 1;
      return losses >= 0 ? Promise.reject(new Error('connection lost')) : undefined;
    };
    const batches = listen(running.events, 'batch');
    running.start();
    await clock.advance(10_000);
    expect(publisher.published).toEqual(['x1', 'x2']);
    // The failure was recorded by the first of them and its claim ended: only the dispatched row is found again.
    expect(batches.map(({ told }) => told)).toEqual([
      { fetched: 2, dispatched: 1, failed: 0, dead: 0, fenced: 1 },
    ]);
    expect(await store.count()).toMatchObject({ dispatched: 1, pending: 1 });
  });
});

describe('a publisher that never ends', () => {
  test('is reported as trouble, the other rows are released, and the worker resumes when it ends', async () => {
    const { store, clock, worker, row } = open();
    await store.enqueue(numbered(3));
    const publisher = new ManualPublisher();
    const running = worker(publisher, {
      concurrency: 2,
      publishTimeoutMs: 1_000,
      backoff: { type: 'fixed', delayMs: 60_000 },
    });
    const heard = listen(running.events, 'trouble', 'recovered');
    running.start();
    await clock.advance(20_000);
    expect(heard[0]?.told).toEqual({
      error: refusal('PUBLISHER_STUCK', 'all 2 concurrent publishes timed out'),
      retryInMs: expect.any(Number),
    });
    expect(heard.length).toBeLessThan(15);
    expect(await row('x3')).not.toHaveProperty('claimToken');
    expect(await running.health()).toMatchObject({ status: 'down', rowsInFlight: 0 });
    publisher.fail('x1');
    for (let step = 0; step < 100 && !publisher.running.includes('x3'); step++) await clock.advance(100);
    expect(heard.at(-1)?.signal).toBe('recovered');
    publisher.succeed('x3');
    await clock.idle();
    expect(await row('x3')).toHaveProperty('dispatchedAt');
    publisher.succeed('x2');
  });
});

describe('an interceptor around dispatch', () => {
  test('that fails before the batch begins releases the rows, and is reported', async () => {
    const { store, clock, worker, row } = open();
    await store.enqueue(numbered(2));
    let calls = 0;
    const interceptor: OutboxInterceptor = {
      dispatch: async (limit, next) => {
        calls += 1;
        if (calls > 1) return next(limit);
        expect(await row('x1')).toHaveProperty('claimToken');
        throw new Error('tracer is broken');
      },
    };
    const publisher = scripted();
    const running = worker(publisher, { interceptors: [interceptor], batchesInFlight: 1 });
    const heard = listen(running.events, 'trouble');
    running.start();
    await clock.advance(1_000);
    expect(heard.map(({ told }) => told.error)).toEqual([new Error('tracer is broken')]);
    expect(publisher.published).toEqual(['x1', 'x2']);
    expect(await store.count()).toMatchObject({ dispatched: 2 });
  });

  test('that fails afterwards does not affect the rows', async () => {
    const { store, clock, worker } = open();
    await store.enqueue(numbered(2));
    const interceptor: OutboxInterceptor = {
      dispatch: async (limit, next) => {
        await next(limit);
        throw new Error('exporter is away');
      },
    };
    const publisher = scripted();
    const running = worker(publisher, { interceptors: [interceptor] });
    const heard = listen(running.events, 'trouble');
    running.start();
    await clock.advance(5_000);
    expect(publisher.published).toEqual(['x1', 'x2']);
    expect(heard).toHaveLength(1);
    expect(await running.health()).toMatchObject({ status: 'up', rowsInFlight: 0 });
  });

  test('sees the limit of the claim, and the summary', async () => {
    const { store, clock, worker } = open();
    await store.enqueue(numbered(3));
    const seen: unknown[] = [];
    const interceptor: OutboxInterceptor = {
      dispatch: async (limit, next) => {
        const summary = await next(limit);
        seen.push(limit, summary);
        return summary;
      },
    };
    worker(scripted(), { interceptors: [interceptor], batchSize: 7 }).start();
    await clock.advance(5_000);
    expect(seen).toEqual([7, { fetched: 3, dispatched: 3, failed: 0, dead: 0, fenced: 0 }]);
  });
});

describe('a stop', () => {
  test('releases unstarted rows at once, before running publishes have ended', async () => {
    const { store, clock, worker, row } = open();
    await store.enqueue(numbered(5));
    const publisher = new ManualPublisher();
    const running = worker(publisher, { batchSize: 3, concurrency: 2 });
    running.start();
    await clock.idle();
    const stopping = running.stop();
    await clock.idle();
    for (const id of ['x3', 'x4', 'x5']) expect(await row(id)).not.toHaveProperty('claimToken');
    for (const id of ['x1', 'x2']) expect(await row(id)).toHaveProperty('claimToken');
    expect(publisher.running).toEqual(['x1', 'x2']);
    publisher.succeed('x1');
    publisher.fail('x2');
    expect(await stopping).toEqual([]);
    expect(publisher.started).toEqual(['x1', 'x2']);
    expect(await row('x1')).toHaveProperty('dispatchedAt');
    expect(await row('x2')).toMatchObject({ attempts: 1, lastError: 'x2 failed' });
    for (const id of ['x3', 'x4', 'x5']) expect(await row(id)).toMatchObject({ attempts: 0, retakes: 0 });
  });

  test('lets running publishes end within the grace, and does not extend released rows', async () => {
    const { store, clock, worker } = open({ claimTimeoutMs: 60_000 });
    await store.enqueue(numbered(2));
    const publisher = new ManualPublisher();
    const running = worker(publisher);
    const heard = listen(running.events, 'stopped');
    running.start();
    await clock.idle();
    const stopping = running.stop({ graceMs: 25_000 });
    await clock.advance(24_999);
    expect(publisher.contexts.get('x1')?.signal.aborted).toBe(false);
    expect(store.calls.filter(({ call }) => call === 'extendClaim').map(({ asked }) => asked)).toEqual([
      ['x1'],
    ]);
    publisher.succeed('x1');
    expect(await stopping).toEqual([]);
    expect(await store.count()).toMatchObject({ dispatched: 1, pending: 1 });
    expect(heard.map(({ told }) => told)).toEqual([{ abandoned: [] }]);
  });

  test('after the grace aborts, reports what it abandons and leaves it claimed', async () => {
    const { store, clock, worker, row } = open({ claimTimeoutMs: 60_000 });
    await store.enqueue(numbered(3));
    const publisher = new ManualPublisher();
    const running = worker(publisher, { concurrency: 2 });
    const heard = listen(running.events, 'stopped', 'batch');
    running.start();
    await clock.idle();
    publisher.succeed('x1');
    await clock.idle();
    expect(publisher.running).toEqual(['x2', 'x3']);
    const stopping = running.stop({ graceMs: 1_000 });
    await clock.advance(500);
    publisher.succeed('x3');
    await clock.advance(499);
    const { signal } = publisher.contexts.get('x2') ?? {};
    expect(signal?.aborted).toBe(false);
    await clock.advance(1);
    expect(await stopping).toEqual(['x2']);
    expect(signal?.aborted).toBe(true);
    expect(String(signal?.reason)).toContain('worker stopping: the 1000 ms grace period is over');
    expect(await row('x1')).toHaveProperty('dispatchedAt');
    expect(await row('x3')).toHaveProperty('dispatchedAt');
    expect(await row('x2')).toMatchObject({ attempts: 0, claimToken: expect.any(String) });
    expect(heard.at(-1)).toEqual({ signal: 'stopped', told: { abandoned: ['x2'] } });
    publisher.succeed('x2');
    await clock.advance(59_000);
    expect(await row('x2')).not.toHaveProperty('dispatchedAt');
    expect(await store.fetchPending(10)).toMatchObject([{ id: 'x2', retakes: 1 }]);
  });

  test('allows ten seconds by default', async () => {
    const { store, clock, worker } = open();
    await store.enqueue(numbered(1));
    const publisher = new ManualPublisher();
    const running = worker(publisher);
    running.start();
    await clock.idle();
    const stopping = running.stop();
    await clock.advance(9_999);
    expect(publisher.contexts.get('x1')?.signal.aborted).toBe(false);
    await clock.advance(1);
    expect(await stopping).toEqual(['x1']);
    publisher.fail('x1');
  });

  test('without grace abandons running publishes at once', async () => {
    const { store, clock, worker, row } = open();
    await store.enqueue(numbered(2));
    const publisher = new ManualPublisher();
    const running = worker(publisher);
    running.start();
    await clock.idle();
    const stopping = running.stop({ graceMs: 0 });
    await clock.idle();
    expect(await stopping).toEqual(['x1']);
    expect(await row('x2')).not.toHaveProperty('claimToken');
    publisher.fail('x1');
  });

  test('retries a failing settle, even after the grace, and ends when it succeeds', async () => {
    const { store, clock, worker } = open();
    await store.enqueue(numbered(1));
    const running = worker(scripted());
    store.before.settle = () => Promise.reject(new Error('database is away'));
    running.start();
    await clock.idle();
    const stopping = running.stop({ graceMs: 500 });
    await clock.advance(2_000);
    delete store.before.settle;
    await clock.advance(2_000);
    expect(await stopping).toEqual([]);
    expect(await store.count()).toMatchObject({ dispatched: 1 });
  });

  test('reports what was published but could not be recorded', async () => {
    const { store, clock, worker } = open();
    await store.enqueue(numbered(2));
    const running = worker(scripted({ x2: new Error('no') }), { batchesInFlight: 1 });
    store.before.settle = () => Promise.reject(new Error('database is away'));
    running.start();
    await clock.idle();
    const stopping = running.stop({ graceMs: 1_000 });
    await clock.advance(6_000);
    expect(await stopping).toEqual(['x1', 'x2']);
    // The try that was under way is the last one.
    await clock.advance(2_000);
    const settles = store.timesOf('settle').length;
    expect(clock.pendingTimers).toBe(0);
    await clock.advance(60_000);
    expect(store.timesOf('settle')).toHaveLength(settles);
  });

  test('reports the rows of a settle that is not answered', async () => {
    const { store, clock, worker } = open();
    await store.enqueue(numbered(2));
    const answer = deferred();
    store.before.settle = () => answer.promise;
    const running = worker(scripted());
    running.start();
    await clock.idle();
    const stopping = running.stop({ graceMs: 1_000 });
    let isStopped = false;
    void stopping.then(() => {
      isStopped = true;
    });
    await clock.advance(5_999);
    expect(isStopped).toBe(false);
    await clock.advance(1);
    expect(await stopping).toEqual(['x1', 'x2']);
    // It may still come through: that saves the duplicates.
    answer.resolve();
    await clock.idle();
    expect(await store.count()).toMatchObject({ dispatched: 2 });
  });

  test('reports unstarted rows that it could not release', async () => {
    const { store, clock, worker } = open();
    await store.enqueue(numbered(2));
    const publisher = new ManualPublisher();
    const running = worker(publisher);
    running.start();
    await clock.idle();
    store.before.settle = (outcomes: readonly Outcome[]) =>
      outcomes.some(({ kind }) => kind === 'released') ? Promise.reject(new Error('away')) : undefined;
    const stopping = running.stop();
    await clock.idle();
    publisher.succeed('x1');
    expect(await stopping).toEqual(['x2']);
    expect(await store.count()).toMatchObject({ dispatched: 1, pending: 1 });
  });

  test('is not confused by a heartbeat in progress when it releases rows', async () => {
    const { store, clock, worker } = open({ claimTimeoutMs: 60_000 });
    await store.enqueue(numbered(2));
    const publisher = new ManualPublisher();
    const running = worker(publisher);
    running.start();
    const heartbeat = deferred();
    store.before.extendClaim = () => heartbeat.promise;
    await clock.advance(20_000);
    const stopping = running.stop();
    await clock.idle();
    heartbeat.resolve();
    await clock.idle();
    expect(publisher.contexts.get('x1')?.signal.aborted).toBe(false);
    publisher.succeed('x1');
    expect(await stopping).toEqual([]);
    expect(await store.count()).toMatchObject({ dispatched: 1, pending: 1 });
  });

  test('during a claim releases the rows that it returns', async () => {
    const { store, clock, worker, row } = open();
    await store.enqueue(numbered(2));
    const answer = deferred();
    store.after.fetchPending = () => answer.promise;
    const publisher = scripted();
    const running = worker(publisher);
    running.start();
    await clock.idle();
    expect(await row('x1')).toHaveProperty('claimToken');
    const stopping = running.stop();
    await clock.idle();
    answer.resolve();
    expect(await stopping).toEqual([]);
    expect(publisher.published).toEqual([]);
    for (const id of ['x1', 'x2']) expect(await row(id)).not.toHaveProperty('claimToken');
  });

  test('ends during a failing claim too', async () => {
    const { store, clock, worker } = open();
    const answer = deferred();
    store.before.fetchPending = () => answer.promise;
    const running = worker(scripted());
    running.start();
    await clock.idle();
    const stopping = running.stop();
    answer.reject(new Error('database is away'));
    expect(await stopping).toEqual([]);
  });

  test('ends after the grace during a claim that is not answered', async () => {
    const { store, clock, worker, row } = open();
    await store.enqueue(numbered(1));
    const answer = deferred();
    store.after.fetchPending = () => answer.promise;
    const publisher = scripted();
    const running = worker(publisher);
    running.start();
    await clock.idle();
    const stopping = running.stop({ graceMs: 1_000 });
    await clock.advance(6_000);
    expect(await stopping).toEqual([]);
    answer.resolve();
    await clock.idle();
    expect(publisher.published).toEqual([]);
    expect(await row('x1')).not.toHaveProperty('claimToken');
  });

  test('ends at once during the delay after trouble', async () => {
    const { store, clock, worker } = open();
    store.goAway();
    const running = worker(scripted());
    running.start();
    await clock.advance(10);
    expect(await running.stop()).toEqual([]);
    expect(clock.pendingTimers).toBe(0);
    store.comeBack();
  });

  test('called twice is one stop, and is harmless if the worker does not run', async () => {
    const { store, clock, worker } = open();
    await store.enqueue(numbered(1));
    const publisher = new ManualPublisher();
    const running = worker(publisher);
    const heard = listen(running.events, 'started', 'stopped');
    expect(await running.stop()).toEqual([]);
    running.start();
    running.start();
    await clock.idle();
    const both = Promise.all([running.stop(), running.stop({ graceMs: 0 })]);
    await clock.advance(1_000);
    publisher.succeed('x1');
    expect(await both).toEqual([[], []]);
    expect(await running.stop()).toEqual([]);
    expect(heard.map(({ signal }) => signal)).toEqual(['started', 'stopped']);
  });

  test('can be followed by a start, but not before it has ended', async () => {
    const { store, clock, worker } = open();
    const publisher = scripted();
    const running = worker(publisher);
    running.start();
    const stopping = running.stop();
    expect(() => running.start()).toThrow(
      refusal('INVALID_ARGUMENT', 'the worker is being stopped: await stop() before start()'),
    );
    await stopping;
    await store.enqueue(numbered(3));
    await clock.advance(5_000);
    expect(publisher.published).toEqual([]);
    running.start();
    await clock.idle();
    expect(publisher.published).toEqual(['x1', 'x2', 'x3']);
  });

  test('leaves no timer and no listener, and nothing is published after it', async () => {
    const { store, clock, worker } = open();
    await store.enqueue(numbered(20));
    const publisher = new ManualPublisher();
    const wakeup = new ManualWakeup();
    const running = worker(publisher, { batchSize: 4, concurrency: 3, wakeup, backlogThreshold: 1 });
    running.start();
    await clock.idle();
    const stopping = running.stop();
    for (const id of publisher.running) publisher.succeed(id);
    expect(await stopping).toEqual([]);
    expect(clock.pendingTimers).toBe(0);
    const started = [...publisher.started];
    const calls = store.calls.length;
    await store.enqueue({ topic: 'order.paid', payload: {} });
    wakeup.hint();
    await clock.advance(600_000);
    expect(publisher.started).toEqual(started);
    expect(store.calls).toHaveLength(calls);
    expect(wakeup.listeners.size).toBe(0);
  });
});

describe('the health of a worker', () => {
  test('before the first start, while it runs, and after the stop', async () => {
    const { store, clock, worker } = open();
    await store.enqueue(numbered(1));
    await clock.advance(500);
    const publisher = new ManualPublisher();
    const running = worker(publisher);
    const idle = { rowsInFlight: 0, isListening: false, oldestPendingAgeMs: 500 };
    const pollingReason = 'the store has no wake-up';
    expect(await running.health()).toEqual({ ...idle, status: 'stopped' });
    running.start();
    expect(await running.health()).toEqual({ ...idle, status: 'up', pollingReason });
    await clock.idle();
    expect(await running.health()).toEqual({
      status: 'up',
      rowsInFlight: 1,
      isListening: false,
      pollingReason,
      lastPollAgeMs: 0,
      oldestPendingAgeMs: 500,
    });
    await clock.advance(15);
    expect(await running.health()).toMatchObject({ lastPollAgeMs: 15, oldestPendingAgeMs: 515 });
    publisher.succeed('x1');
    await clock.idle();
    expect(await running.health()).toMatchObject({ rowsInFlight: 0, oldestPendingAgeMs: 0 });
    await running.stop();
    await clock.advance(100);
    expect(await running.health()).toMatchObject({ status: 'stopped', rowsInFlight: 0, lastPollAgeMs: 115 });
  });

  test('is down if the store hangs, and does not hang itself', async () => {
    const { store, clock, worker } = open();
    const running = worker(scripted());
    running.start();
    await clock.idle();
    store.before.backlog = () => new Promise(() => {});
    const health = running.health();
    await clock.advance(5_000);
    expect(await health).toMatchObject({
      status: 'down',
      error: expect.stringContaining('has not answered'),
    });
    await running.stop();
  });

  test('is down with the error if the store fails', async () => {
    const { store, clock, worker } = open();
    const running = worker(scripted());
    running.start();
    await clock.idle();
    store.before.backlog = () => Promise.reject(new Error('connect postgres://user:secret@db:5432 refused'));
    const health = await running.health();
    expect(health).toMatchObject({
      status: 'down',
      lastPollAgeMs: 0,
      error: 'connect postgres://***@db:5432 refused',
    });
    expect(health).not.toHaveProperty('oldestPendingAgeMs');
    await running.stop();
    expect(await running.health()).toMatchObject({ status: 'stopped', error: expect.any(String) });
  });

  test('is down if claims fail although the store answers otherwise', async () => {
    const { store, clock, worker } = open();
    await store.enqueue(numbered(1));
    store.before.fetchPending = () => Promise.reject(new Error('connect postgres://user:secret@db refused'));
    const running = worker(scripted());
    running.start();
    await clock.advance(10);
    expect(await running.health()).toEqual({
      status: 'down',
      rowsInFlight: 0,
      isListening: false,
      pollingReason: 'the store has no wake-up',
      oldestPendingAgeMs: 10,
      error: 'connect postgres://***@db refused',
    });
  });
});

describe('a worker rejects', () => {
  test('a publish that does not fit into the claim, and says what to set', () => {
    const { worker } = open({ claimTimeoutMs: 30_000 });
    expect(() => worker(scripted())).toThrow(
      refusal('INVALID_CONFIG', 'set publishTimeoutMs below 20000, or claimTimeoutMs above 45000'),
    );
  });

  test('invalid settings, whichever half they belong to', () => {
    const { worker } = open();
    expect(() => worker(scripted(), { batchSize: 0 })).toThrow(refusal('INVALID_CONFIG', 'batchSize'));
    expect(() => worker(scripted(), { pollIntervalMs: 0 })).toThrow(
      refusal('INVALID_CONFIG', 'pollIntervalMs must be at least 1 and below 2^31, got 0'),
    );
    expect(() => worker(scripted(), { batchesInFlight: 0 })).toThrow(
      refusal('INVALID_CONFIG', 'batchesInFlight'),
    );
    expect(() => worker(scripted(), { maxBytesInFlight: 0.5 })).toThrow(
      refusal('INVALID_CONFIG', 'maxBytesInFlight'),
    );
    expect(() => worker(scripted(), { backlogThreshold: -1 })).toThrow(
      refusal('INVALID_CONFIG', 'backlogThreshold'),
    );
    expect(() => worker({} as never)).toThrow(refusal('INVALID_CONFIG', 'publisher must be'));
  });
});

describe('what a worker reports', () => {
  test('goes to its events, never to the console', async () => {
    const methods = ['log', 'info', 'warn', 'error', 'debug'] as const;
    const spies = methods.map((method) => vi.spyOn(console, method).mockImplementation(() => {}));
    const { store, clock, worker } = open();
    await store.enqueue(numbered(2));
    const running = worker(scripted({ x1: new Error('no') }), { maxAttempts: 1 });
    const heard = listen(running.events, 'started', 'batch', 'dead', 'trouble', 'recovered', 'stopped');
    running.start();
    await clock.advance(100);
    store.goAway();
    await clock.advance(2_000);
    store.comeBack();
    await clock.advance(10_000);
    await running.stop();
    expect(new Set(heard.map(({ signal }) => signal))).toEqual(
      new Set(['started', 'dead', 'batch', 'trouble', 'recovered', 'stopped']),
    );
    for (const spy of spies) {
      expect(spy).not.toHaveBeenCalled();
      spy.mockRestore();
    }
  });

  test('agrees with the table: failed, first failure, dead, fenced', async () => {
    const { store, clock, worker } = open({ claimTimeoutMs: 60_000 });
    await store.enqueue(numbered(2));
    const publisher = new ManualPublisher();
    const running = worker(publisher, {
      concurrency: 2,
      maxAttempts: 3,
      backoff: { type: 'fixed', delayMs: 1_000 },
    });
    const heard = listen(running.events, 'failed', 'firstFailure', 'dead', 'fenced');
    running.start();
    await clock.idle();
    await store.cancel('x2');
    publisher.succeed('x2');
    for (let round = 0; round < 3; round++) {
      publisher.fail('x1', new Error(`try ${round + 1}`));
      await clock.advance(2_000);
    }
    expect(heard.map(({ signal, told }) => [signal, 'error' in told ? told.error : told])).toEqual([
      ['failed', 'try 1'],
      ['firstFailure', 'try 1'],
      ['fenced', { ids: ['x2'] }],
      ['failed', 'try 2'],
      ['dead', 'try 3'],
    ]);
    expect(await store.count()).toMatchObject({ dead: 2 });
  });

  test('needs no clock or random source', async () => {
    const { store } = open();
    await store.enqueue(numbered(1));
    const published = deferred();
    const running = new OutboxWorker(store, async () => published.resolve());
    running.start();
    await published.promise;
    expect(await running.stop()).toEqual([]);
    expect(await store.count()).toMatchObject({ dispatched: 1 });
  });
});
