import { composeModules, OutboxDispatcher, OutboxModule, OutboxPauses, OutboxStore } from '@postcommit/core';
import { OutboxWorkers } from '@postcommit/core/internal';
import {
  MemoryOutboxStore,
  MemoryTable,
  OutboxMemoryModule,
  type OutboxMemoryModuleOptions,
  seededRandom,
  VirtualClock,
} from '@postcommit/store-memory';
import { describe, expect, test } from 'vitest';

const entry = { topic: 'order.paid', payload: {} };

function storeOf(options: OutboxMemoryModuleOptions): MemoryOutboxStore {
  return composeModules([OutboxModule, OutboxMemoryModule.forRoot(options)]).get(MemoryOutboxStore);
}

describe('OutboxMemoryModule', () => {
  test('is itself a module, with all defaults', async () => {
    const published: string[] = [];
    const publisher = async ({ topic }: { topic: string }): Promise<void> => void published.push(topic);
    const app = composeModules([OutboxModule.forRoot({ publisher }), OutboxMemoryModule]);
    expect(app.get(OutboxStore)).toBeInstanceOf(MemoryOutboxStore);
    await app.get(OutboxStore).enqueue(entry);
    expect(await app.get(OutboxDispatcher).dispatchPending()).toMatchObject({ dispatched: 1 });
    expect(published).toEqual(['order.paid']);
  });

  test('creates a separate table for every application', async () => {
    const [one, two] = [storeOf({}), storeOf({})];
    await one.enqueue(entry);
    expect([await one.count(), await two.count()]).toMatchObject([{ total: 1 }, { total: 0 }]);
  });

  test('binds the workers and the pauses of the same table', async () => {
    const app = composeModules([OutboxModule, OutboxMemoryModule]);
    await app.get(OutboxPauses).pause('order.paid');
    expect((await app.get(OutboxStore).lookAhead()).pausedTopics).toEqual(['order.paid']);
    const worker = { id: 'w1', host: 'h', pid: 1, version: '1', takeoverMs: 1_000 };
    const workers = app.get(OutboxWorkers);
    await workers.register(worker, { rowsInFlight: 0, isListening: true, outages: [] });
    expect(await workers.list()).toMatchObject([worker]);
    const other = composeModules([OutboxModule, OutboxMemoryModule]);
    expect(await other.get(OutboxWorkers).list()).toEqual([]);
  });

  test('forRoot accepts the options of the store', async () => {
    const clock = new VirtualClock();
    const table = new MemoryTable(clock);
    const store = storeOf({ table, claimTimeoutMs: 70_000 });
    expect(store.claimTimeoutMs).toBe(70_000);
    await store.enqueue(entry);
    expect(await new MemoryOutboxStore({ table }).peek({}, 1)).toMatchObject([
      { createdAt: new Date(clock.now()) },
    ]);
  });

  test('forRoot({ random }) makes ids and claim tokens reproducible, as the store does', async () => {
    const idsAndToken = async (): Promise<unknown[]> => {
      const store = storeOf({ table: new MemoryTable(new VirtualClock()), random: seededRandom(1) });
      return [await store.enqueue([entry, entry]), (await store.fetchPending(1))[0]?.claimToken];
    };
    expect(await idsAndToken()).toEqual(await idsAndToken());
  });
});
