import { MemoryTable, VirtualClock } from '@postcommit/store-memory';
import { afterEach, describe, expect, test } from 'vitest';
import { MemoryOutboxWorkers } from '../../../store-memory/src/memory-outbox-workers.js';
import { UnavailableError } from '../../src/message/errors.js';
import type { OutboxEntry, OutboxRow } from '../../src/message/outbox-row.js';
import type { Outcome } from '../../src/message/outcome.js';
import { OutboxPublisher, type PublishFunction } from '../../src/publish/outbox-publisher.js';
import { routePublisher } from '../../src/publish/publisher-routes.js';
import type { OutboxWorker, WorkerOptions } from '../../src/worker/outbox-worker.js';
import { FaultyStore, ManualPublisher, openOutbox } from '../outbox-fixture.js';

const workers: OutboxWorker[] = [];

afterEach(async () => {
  await Promise.all(workers.splice(0).map((worker) => worker.stop()));
});

/** A store that counts what is written, and a destination that is away until it is told to come back. */
function open() {
  const outbox = openOutbox({}, (options, clock) => new FaultyStore(options, clock));
  const { store, clock } = outbox;
  const destination = { isAway: true, triedAtMs: [] as number[], sent: 0 };
  const send = async (): Promise<void> => {
    destination.triedAtMs.push(clock.monotonicMs());
    if (destination.isAway) throw new UnavailableError('no', { isCertain: true });
    destination.sent += 1;
  };
  const start = (publisher: OutboxPublisher | PublishFunction, options: WorkerOptions = {}) => {
    const worker = outbox.worker(publisher, options);
    workers.push(worker);
    worker.start();
    return worker;
  };
  /** Rows that were claimed and released since that many calls. */
  const putOff = (since = 0): number =>
    store.calls
      .slice(since)
      .flatMap(({ call, asked }) => (call === 'settle' ? (asked as Outcome[]) : []))
      .filter(({ kind }) => kind === 'released').length;
  return { ...outbox, destination, send, start, putOff };
}

function rows(topic: string, count: number): OutboxEntry[] {
  return Array.from({ length: count }, () => ({ topic, payload: 1 }));
}

describe('a route whose destination is away', () => {
  test('is tried with one row, and no others of it are claimed for that', async () => {
    const { store, clock, destination, send, start, putOff } = open();
    await store.enqueue(rows('order.paid', 2_000));
    start(routePublisher({ 'order.*': send, '*': async () => {} }));
    await clock.advance(10_000);
    const [calls, tries] = [store.calls.length, destination.triedAtMs.length];
    await clock.advance(600_000);
    const triedSince = destination.triedAtMs.length - tries;
    expect(triedSince).toBeGreaterThanOrEqual(20);
    expect(triedSince).toBeLessThanOrEqual(45);
    expect(putOff(calls)).toBe(triedSince);
    destination.isAway = false;
    await clock.advance(32_000);
    expect(await store.count()).toMatchObject({ pending: 0, dispatched: 2_000 });
  });

  test('is tried although rows of others are always due, and does not slow these', async () => {
    const { store, clock, destination, send, start } = open();
    const others: string[] = [];
    start(routePublisher({ 'order.*': send, '*': async ({ id }) => others.push(id) }));
    await store.enqueue(rows('order.paid', 500));
    await clock.advance(2_000);
    for (let second = 0; second < 60; second++) {
      await store.enqueue(rows('mail.sent', 500));
      await clock.advance(1_000);
      expect(others).toHaveLength(500 * (second + 1));
    }
    const sinceMs = clock.monotonicMs() - 31_000;
    expect(destination.triedAtMs.some((ms) => ms > sinceMs)).toBe(true);
  });

  test('takes no place of the batches of others while a try hangs', async () => {
    const { store, clock, start } = open();
    const [tries, others] = [new ManualPublisher(), new ManualPublisher()];
    let isFirst = true;
    const hangs: PublishFunction = async (row, context) => {
      if (!isFirst) return tries.publish(row, context);
      isFirst = false;
      throw new UnavailableError('no', { isCertain: true });
    };
    const options = { batchSize: 10, batchesInFlight: 2, concurrency: 100 };
    const worker = start(routePublisher({ 'order.*': hangs, '*': others.publish }), options);
    await store.enqueue(rows('order.paid', 1));
    await clock.idle();
    // Refused: from now on, claims leave the topic out.
    await store.enqueue(rows('order.paid', 1));
    await clock.advance(2_000);
    expect(tries.running).toHaveLength(1);
    await store.enqueue(rows('mail.sent', 30));
    await clock.advance(1_000);
    // Together never more than two batches.
    const { rowsInFlight } = await worker.health();
    const running = others.running.length;
    for (const publisher of [tries, others, others, tries, others]) {
      for (const id of publisher.running) publisher.succeed(id);
      await clock.advance(2_000);
    }
    expect([running, rowsInFlight]).toEqual([19, 20]);
    expect(others.started).toHaveLength(30);
  });

  test('makes others wait for nothing when a try fails', async () => {
    const { store, clock, destination, send, start } = open();
    const CLAIM_MS = 10;
    store.before.fetchPending = () => clock.wait(CLAIM_MS);
    await store.enqueue(rows('order.paid', 100));
    start(routePublisher({ 'order.*': send, '*': async () => {} }), { batchSize: 10 });
    await store.enqueue(rows('mail.sent', 4_000));
    // The first batches are refused as a whole.
    await clock.advance(100);
    const startMs = clock.monotonicMs();
    await clock.advance(3_000);
    const tries = destination.triedAtMs.length;
    const claimedAtMs = store.timesOf('fetchPending').filter((ms) => ms > startMs);
    const waits = claimedAtMs.map((ms, place) => ms - (claimedAtMs[place - 1] ?? ms) - CLAIM_MS);
    delete store.before.fetchPending;
    await clock.advance(1_000);
    expect(tries).toBeGreaterThan(2);
    expect(waits.filter((ms) => ms > 0)).toEqual([]);
  });

  test('costs no more than polls when it has no rows left', async () => {
    const { store, clock, send, start } = open();
    await store.enqueue({ id: 'only', topic: 'order.paid', payload: 1 });
    start(routePublisher({ 'order.*': send, '*': async () => {} }));
    await clock.advance(5_000);
    await store.cancel('only');
    await clock.advance(60_000);
    const before = store.calls.length;
    await clock.advance(60_000);
    expect(store.calls.length - before).toBeLessThanOrEqual(60 * 2);
  });
});

describe('one of many destinations of a publisher', () => {
  class Webhooks extends OutboxPublisher {
    readonly #send: () => Promise<void>;
    override destinationOf = ({ topic }: OutboxRow): string => topic;

    constructor(send: () => Promise<void>) {
      super();
      this.#send = send;
    }

    async publish({ topic }: OutboxRow): Promise<void> {
      if (topic === 'away.example') await this.#send();
    }
  }

  test('has at most 500 rows a second put off while it is away, all of which go out afterwards', async () => {
    const { store, clock, destination, send, start, putOff } = open();
    await store.enqueue(rows('away.example', 20_000));
    start(new Webhooks(send), { batchSize: 500 });
    // Others succeed all the time, so the worker doesn't slow down.
    const advance = async (seconds: number): Promise<void> => {
      for (let second = 0; second < seconds; second++) {
        await store.enqueue(rows('here.example', 5));
        await clock.advance(1_000);
      }
    };
    await advance(60);
    const before = store.calls.length;
    await advance(60);
    expect(putOff(before)).toBeGreaterThan(0);
    expect(putOff(before)).toBeLessThanOrEqual(61 * 500);
    destination.isAway = false;
    await advance(90);
    expect(destination.sent).toBe(20_000);
    expect(await store.count()).toMatchObject({ pending: 0 });
  }, 60_000);
});

describe('a destination that a fleet shares', () => {
  test('is tried less often by each worker, the more there are', async () => {
    const triesOf = async (fleet: number): Promise<number> => {
      const table = new MemoryTable(new VirtualClock());
      const { store, clock, destination, send, start } = open();
      const registry = new MemoryOutboxWorkers(table);
      for (let other = 1; other < fleet; other++)
        await registry.register(
          { id: `other${other}`, host: 'h', pid: 1, version: '1', takeoverMs: 1e9 },
          { rowsInFlight: 0, isListening: true, outages: [] },
        );
      await store.enqueue(rows('order.paid', 10));
      start(send, { workers: registry });
      await clock.advance(60_000);
      const before = destination.triedAtMs.length;
      await clock.advance(3_600_000);
      return destination.triedAtMs.length - before;
    };
    const [alone, eight, many] = [await triesOf(1), await triesOf(8), await triesOf(128)];
    expect(eight).toBeGreaterThan(0.8 * alone);
    expect(many).toBeLessThan(0.35 * alone);
    expect(many).toBeGreaterThan(0.15 * alone);
  });
});
