import { MemoryTable } from '@postcommit/store-memory';
import { afterEach, expect, test } from 'vitest';
import { MemoryOutboxPauses } from '../../../store-memory/src/memory-outbox-pauses.js';
import { OutboxWorker } from '../../src/worker/outbox-worker.js';
import { CountingClock, entries, FaultyStore } from '../outbox-fixture.js';

const workers: OutboxWorker[] = [];

afterEach(async () => {
  await Promise.all(workers.splice(0).map((worker) => worker.stop()));
});

/** Publishes one row at a time, each for so long. */
function open(publishMs: number) {
  const clock = new CountingClock();
  const table = new MemoryTable(clock);
  const store = new FaultyStore({ table }, clock);
  const published: string[] = [];
  const publish = ({ id }: { id: string }): Promise<void> => {
    published.push(id);
    return new Promise((resolve) => void clock.schedule(publishMs, resolve));
  };
  const worker = new OutboxWorker(store, publish, { clock, concurrency: 1 });
  workers.push(worker);
  return { clock, store, pauses: new MemoryOutboxPauses(table), worker, published };
}

test('a worker that was stopped and started again asks what is paused before it publishes', async () => {
  const { clock, store, pauses, worker, published } = open(0);
  worker.start();
  await clock.advance(1_000);
  await worker.stop();
  await pauses.pause('order.paid');
  await store.enqueue(entries('x1'));
  await clock.advance(3_600_000);
  worker.start();
  await clock.advance(5_000);
  expect(published).toEqual([]);
  await pauses.resume('order.paid');
  await clock.advance(2_000);
  expect(published).toEqual(['x1']);
});

test('a pause during a slow publish holds for the next row of its batch', async () => {
  const { clock, store, pauses, worker, published } = open(10_000);
  await store.enqueue(entries('x1', 'x2'));
  worker.start();
  await clock.advance(1_000);
  await pauses.pause('order.paid');
  await clock.advance(20_000);
  expect(published).toEqual(['x1']);
});

test('a store that does not say what is paused delays a row once, for five seconds at most', async () => {
  const { clock, store, worker, published } = open(10_000);
  await store.enqueue(entries('x1', 'x2', 'x3'));
  worker.start();
  await clock.advance(1_000);
  store.before.lookAhead = () => new Promise(() => {});
  await clock.advance(26_000);
  expect(published).toEqual(['x1', 'x2', 'x3']);
  await clock.advance(10_000);
});
