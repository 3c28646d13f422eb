import { DispatchEvents, OutboxDispatcher } from '@postcommit/core';
import { type JobContext, OutboxDispatchJob } from '@postcommit/scheduler';
import { MemoryOutboxStore, VirtualClock } from '@postcommit/store-memory';
import { describe, expect, test } from 'vitest';
import { createDispatchFixture } from './dispatch-fixture.js';

const context = (signal = new AbortController().signal): JobContext => ({ signal, scheduledAt: new Date() });
const entries = (count: number, topic = 'good') =>
  Array.from({ length: count }, () => ({ topic, payload: {} }));

describe('OutboxDispatchJob', () => {
  test('has the documented name and defaults', () => {
    expect(createDispatchFixture().job).toMatchObject({
      name: 'outbox-dispatch',
      schedule: '*/1 * * * * *',
      lockTtlMs: 30_000,
    });
  });

  test('one tick publishes all due rows, batch by batch', async () => {
    const { store, job, tried } = createDispatchFixture(undefined, { batchSize: 10 });
    await store.enqueue(entries(35));
    await job.execute(context());
    expect(tried).toHaveLength(35);
    expect(await store.count()).toMatchObject({ pending: 0, dispatched: 35 });
  });

  test('needs no context, as in a manual call', async () => {
    const store = new MemoryOutboxStore();
    const job = new OutboxDispatchJob(
      new OutboxDispatcher(store, async () => {}),
      store,
      new DispatchEvents(),
    );
    await store.enqueue(entries(3));
    await job.execute();
    expect(await store.count()).toMatchObject({ dispatched: 3 });
  });

  test('claims as many rows at once as its limit', async () => {
    const { app, job, store } = createDispatchFixture(undefined, { batchSize: 50, limit: 4 });
    const sizes: number[] = [];
    const fetchPending = store.fetchPending.bind(store);
    store.fetchPending = (limit) => {
      sizes.push(limit);
      return fetchPending(limit);
    };
    await app.get(MemoryOutboxStore).enqueue(entries(6));
    await job.execute(context());
    expect(sizes).toEqual([4, 4, 4]);
  });

  test('continues after a retaken row, which is claimed alone', async () => {
    const { store, job, clock } = createDispatchFixture();
    await store.enqueue(entries(5));
    await store.fetchPending(2);
    await clock.advance(store.claimTimeoutMs + 1);
    await job.execute(context());
    expect(await store.count()).toMatchObject({ pending: 0, dispatched: 5 });
  });

  test('attempts failing rows, then everything behind them, and leaves the rest to the next tick', async () => {
    const { store, job, tried } = createDispatchFixture(failBad, { batchSize: 10 });
    await store.enqueue([...entries(25, 'bad'), ...entries(25)]);
    await job.execute(context());
    expect(await store.count()).toMatchObject({ pending: 25, dispatched: 25 });
    expect(tried.filter((topic) => topic === 'bad')).toHaveLength(25);
    await store.enqueue(entries(5));
    await job.execute(context());
    expect(await store.peek({ state: 'pending' }, 100)).toEqual(
      Array(25).fill(expect.objectContaining({ attempts: 2 })),
    );
    expect(await store.count()).toMatchObject({ dispatched: 30 });
  });

  test('a failing row with later rows of its key does not make a tick spin', async () => {
    const { store, job, tried } = createDispatchFixture(failBad);
    await store.enqueue([
      { topic: 'bad', payload: {}, key: 'k' },
      { topic: 'good', payload: {}, key: 'k' },
    ]);
    await job.execute(context());
    expect(tried.length).toBeLessThanOrEqual(2);
    expect(await store.count()).toMatchObject({ pending: 2 });
  });

  test('starts no batch after its signal was aborted', async () => {
    const controller = new AbortController();
    const { store, job } = createDispatchFixture(() => controller.abort(), { batchSize: 10 });
    await store.enqueue(entries(30));
    await job.execute(context(controller.signal));
    expect(await store.count()).toMatchObject({ pending: 20, dispatched: 10 });
  });

  test('starts no batch after lockTtlMs: a tick ends even if rows never do', async () => {
    const clock = new VirtualClock();
    const store = new MemoryOutboxStore();
    const refill = async (): Promise<void> => {
      await store.enqueue(entries(1));
      await clock.advance(10_000);
    };
    const dispatcher = new OutboxDispatcher(store, refill);
    const job = new OutboxDispatchJob(dispatcher, store, new DispatchEvents(), { clock, lockTtlMs: 30_000 });
    await store.enqueue(entries(1));
    await job.execute(context());
    expect(await store.count()).toMatchObject({ dispatched: 3, pending: 1 });
  });

  test('rejects if the store is unreachable, for the scheduler to report', async () => {
    const { store, job } = createDispatchFixture();
    store.fetchPending = () => Promise.reject(new Error('connection refused'));
    await expect(job.execute(context())).rejects.toThrow('connection refused');
  });

  test('listens to the outbox only while it runs', async () => {
    const { app, store, job } = createDispatchFixture(failBad);
    await store.enqueue(entries(1, 'bad'));
    await job.execute(context());
    expect(app.get(DispatchEvents).hasListeners('failed')).toBe(false);
  });
});

function failBad({ topic }: { topic: string }): void {
  if (topic === 'bad') throw new Error('rejected');
}
