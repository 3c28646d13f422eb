import { afterEach, describe, expect, test } from 'vitest';
import type { OutboxEntry } from '../../src/message/outbox-row.js';
import type { Outcome } from '../../src/message/outcome.js';
import { routePublisher } from '../../src/publish/publisher-routes.js';
import type { OutboxWorker, WorkerOptions } from '../../src/worker/outbox-worker.js';
import { FaultyStore, ManualPublisher, openOutbox, refusal } from '../outbox-fixture.js';

const workers: OutboxWorker[] = [];

afterEach(async () => {
  await Promise.all(workers.splice(0).map((worker) => worker.stop()));
});

const rateLimit = { 'email.*': { perSecond: 50 } };

/** A worker that publishes at once, and when it published rows of each topic. */
function open(options: WorkerOptions = {}) {
  const outbox = openOutbox({}, (all, clock) => new FaultyStore(all, clock));
  const { clock, store } = outbox;
  const published = new Map<string, number[]>();
  const worker = outbox.worker(
    async ({ topic }) => {
      published.set(topic, [...(published.get(topic) ?? []), clock.monotonicMs()]);
    },
    { rateLimit, ...options },
  );
  workers.push(worker);
  const count = (topic: string): number => published.get(topic)?.length ?? 0;
  const released = (): Outcome[] =>
    store.calls
      .flatMap(({ call, asked }) => (call === 'settle' ? (asked as Outcome[]) : []))
      .filter(({ kind }) => kind === 'released');
  return { clock, store, worker, published, count, released };
}

function rows(topic: string, count: number): OutboxEntry[] {
  return Array.from({ length: count }, () => ({ topic, payload: 1 }));
}

describe('a topic with a rate limit', () => {
  test('is published at its rate, and never a tenth faster within a second', async () => {
    const { clock, store, worker, published, count } = open();
    await store.enqueue(rows('email.sent', 1_000));
    worker.start();
    await clock.advance(10_000);
    expect(count('email.sent')).toBeGreaterThanOrEqual(480);
    expect(count('email.sent')).toBeLessThanOrEqual(505);
    const times = published.get('email.sent') ?? [];
    for (const fromMs of times)
      expect(times.filter((ms) => ms >= fromMs && ms < fromMs + 1_000).length).toBeLessThanOrEqual(56);
  });

  test('does not slow others, before or behind it', async () => {
    const { clock, store, worker, count } = open();
    await store.enqueue([...rows('email.sent', 1_000), ...rows('order.paid', 2_000)]);
    worker.start();
    await clock.advance(200);
    expect(count('order.paid')).toBe(2_000);
  });

  test('takes no place of the batches of others, however slow it is', async () => {
    const { clock, store, worker: start } = openOutbox();
    const [emails, others] = [new ManualPublisher(), new ManualPublisher()];
    const publisher = routePublisher({ 'email.*': emails.publish, '*': others.publish });
    const worker = start(publisher, { rateLimit, batchSize: 100, batchesInFlight: 2, concurrency: 500 });
    workers.push(worker);
    const finish = async (publishes: ManualPublisher): Promise<void> => {
      for (const id of publishes.running) publishes.succeed(id);
      await clock.advance(200);
    };
    await store.enqueue(rows('email.sent', 5));
    worker.start();
    await clock.advance(200);
    await finish(emails);
    await store.enqueue(rows('email.sent', 10));
    await clock.advance(500);
    const slow = emails.running.length;
    await store.enqueue(rows('sms', 500));
    await clock.advance(500);
    const [fast, { rowsInFlight }] = [others.running.length, await worker.health()];
    for (let turn = 0; turn < 10; turn++) await finish(turn % 2 ? emails : others);
    expect(slow).toBe(10);
    expect([fast, rowsInFlight]).toEqual([190, 200]);
    expect(await store.count()).toMatchObject({ pending: 0 });
  });

  test('has its rows written for nothing only when it is first seen, and they keep their attempts', async () => {
    const { clock, store, worker, released } = open();
    await store.enqueue(rows('email.sent', 1_000));
    worker.start();
    await clock.advance(10_000);
    expect(released().length).toBeLessThanOrEqual(50);
    expect((await store.peek({ state: 'pending' }, 1_000)).every(({ attempts }) => attempts === 0)).toBe(
      true,
    );
  });

  test('shares its limit with the other topics of its pattern', async () => {
    const { clock, store, worker, count } = open();
    await store.enqueue([...rows('email.sent', 300), ...rows('email.read', 300), ...rows('sms', 300)]);
    worker.start();
    await clock.advance(4_000);
    expect(count('email.sent') + count('email.read')).toBeLessThanOrEqual(206);
    expect(count('email.sent') + count('email.read')).toBeGreaterThanOrEqual(190);
    expect(count('sms')).toBe(300);
  });

  test('may have less than one row a second', async () => {
    const { clock, store, worker, published } = open({ rateLimit: { slow: { perSecond: 0.1 } } });
    await store.enqueue(rows('slow', 10));
    worker.start();
    await clock.advance(25_000);
    expect(published.get('slow')).toHaveLength(3);
  });

  test('costs nothing more when it is idle, and at most forty claims a second when it waits', async () => {
    const { clock, store, worker } = open();
    await store.enqueue(rows('email.sent', 2_000));
    worker.start();
    await clock.advance(2_000);
    const before = store.timesOf('fetchPending').length;
    await clock.advance(10_000);
    expect(store.timesOf('fetchPending').length - before).toBeLessThanOrEqual(10 * 40);
    await clock.advance(60_000);
    const idle = store.calls.length;
    await clock.advance(60_000);
    expect(store.calls.length - idle).toBeLessThanOrEqual(60 * 2);
  });
});

describe('refuses', () => {
  test.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY, '5' as never])('a rate of %s', (perSecond) => {
    expect(() => openOutbox().worker(async () => {}, { rateLimit: { t: { perSecond } } })).toThrow(
      refusal('INVALID_CONFIG', `OutboxConfig: rateLimit 't': perSecond must be above 0, got ${perSecond}`),
    );
  });

  test('an empty pattern, and an unknown option', () => {
    const { worker } = openOutbox();
    expect(() => worker(async () => {}, { rateLimit: { '': { perSecond: 1 } } })).toThrow(
      refusal('INVALID_CONFIG', 'empty pattern'),
    );
    expect(() => worker(async () => {}, { rateLimit: { t: { perMinute: 1 } as never } })).toThrow(
      refusal('INVALID_CONFIG', 'perMinute'),
    );
  });
});
