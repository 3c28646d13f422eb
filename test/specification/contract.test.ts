import {
  type DispatchSummary,
  OutboxDispatcher,
  type OutboxEntry,
  OutboxModule,
  OutboxPublisher,
  type OutboxRow,
  type OutboxState,
  OutboxStore,
  stateOf,
} from '@postcommit/core';
import { MemoryOutboxStore, OutboxMemoryModule } from '@postcommit/store-memory';
import { TypeormOutboxStore } from '@postcommit/store-typeorm';
import { beforeEach, describe, expect, expectTypeOf, it } from 'vitest';
import { compose } from './line-up.js';
import { useOrdersDatabase } from './orders-database.js';

const entry: OutboxEntry = { topic: 'order.paid', payload: { id: '7' } };
const entries = (count: number): OutboxEntry[] => Array.from({ length: count }, () => entry);

/** The document's declarations, word for word. */
interface SpecifiedRow {
  id: string;
  topic: string;
  payload: unknown;
  createdAt: Date;
  dispatchedAt?: Date;
  deadAt?: Date;
  attempts: number;
  lastError?: string;
}

interface SpecifiedCounts {
  pending: number;
  dispatched: number;
  dead: number;
  total: number;
}

describe('types: code that calls the contract', () => {
  it('reads rows, states, counts and summaries as the document declares them', () => {
    expectTypeOf<OutboxRow>().toExtend<SpecifiedRow>();
    expectTypeOf<OutboxRow['dispatchedAt']>().toEqualTypeOf<Date | undefined>();
    expectTypeOf<OutboxState>().toEqualTypeOf<'pending' | 'dispatched' | 'dead'>();
    expectTypeOf<Awaited<ReturnType<OutboxStore['count']>>>().toExtend<SpecifiedCounts>();
    expectTypeOf<DispatchSummary>().toExtend<{
      fetched: number;
      dispatched: number;
      failed: number;
      dead: number;
    }>();
  });

  it('accepts the document’s parameters', () => {
    expectTypeOf<OutboxStore['enqueue']>().toBeCallableWith([entry]);
    expectTypeOf<OutboxStore['fetchPending']>().toBeCallableWith(20);
    expectTypeOf<OutboxStore['markDispatched']>().toBeCallableWith(['a', 'b']);
    expectTypeOf<OutboxStore['markFailed']>().toBeCallableWith('a', 'timeout');
    expectTypeOf<OutboxStore['markDead']>().toBeCallableWith('a', 'poison');
    expectTypeOf<OutboxStore['peek']>().toBeCallableWith({ state: 'dead' }, 20);
    expectTypeOf<OutboxStore['peek']>().toBeCallableWith({}, 20);
    expectTypeOf<OutboxStore['requeue']>().toBeCallableWith('a');
    expectTypeOf<OutboxStore['purgeDispatched']>().toBeCallableWith(new Date());
    expectTypeOf<OutboxStore['fetchPending']>().returns.resolves.toEqualTypeOf<OutboxRow[]>();
    expectTypeOf<OutboxStore['peek']>().returns.resolves.toEqualTypeOf<OutboxRow[]>();
    expectTypeOf<OutboxStore['requeue']>().returns.resolves.toEqualTypeOf<void>();
    expectTypeOf<OutboxStore['purgeDispatched']>().returns.resolves.toEqualTypeOf<number>();
    expectTypeOf<OutboxDispatcher['dispatchPending']>().toBeCallableWith();
    expectTypeOf<OutboxDispatcher['dispatchPending']>().toBeCallableWith(10);
  });

  it('accepts a publisher of one parameter', () => {
    class Specified extends OutboxPublisher {
      async publish(row: OutboxRow): Promise<void> {
        expect(row.topic).toBe('order.paid');
      }
    }
    expectTypeOf(new Specified()).toExtend<OutboxPublisher>();
    new OutboxDispatcher(new MemoryOutboxStore(), new Specified());
  });

  it('returns Promise<void> only where the document returns void and there is no result here either', () => {
    const store: OutboxStore = new MemoryOutboxStore();
    const requeue = (id: string): Promise<void> => store.requeue(id);
    // @ts-expect-error: enqueue returns the ids; await it instead of returning it
    const enqueue = (list: OutboxEntry[]): Promise<void> => store.enqueue(list);
    // @ts-expect-error: markDispatched returns the ids that were changed
    const markDispatched = (ids: string[]): Promise<void> => store.markDispatched(ids);
    expect([requeue, enqueue, markDispatched]).toHaveLength(3);
  });
});

const database = useOrdersDatabase();

describe.each([
  { name: 'memory', create: (): OutboxStore => new MemoryOutboxStore() },
  { name: 'PostgreSQL', create: (): OutboxStore => new TypeormOutboxStore(database.dataSource) },
])('OutboxStore on $name', ({ create }) => {
  let store: OutboxStore;
  beforeEach(() => {
    store = create();
  });
  const only = async (state: OutboxState): Promise<OutboxRow> => {
    const [row, ...more] = await store.peek({ state }, 20);
    if (!row || more.length > 0) throw new Error(`expected one ${state} row`);
    return row;
  };

  it('holds a row that is pending, then dispatched', async () => {
    await store.enqueue([entry]);
    const pending = await only('pending');
    expect(pending).toMatchObject({ topic: 'order.paid', payload: { id: '7' }, attempts: 0 });
    expect(pending.createdAt).toBeInstanceOf(Date);
    expect([pending.dispatchedAt, pending.deadAt, pending.lastError]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    const rows = await store.fetchPending(10);
    await store.markDispatched(rows.map(({ id }) => id));
    const dispatched = await only('dispatched');
    expect(dispatched.dispatchedAt).toBeInstanceOf(Date);
    expect(dispatched.deadAt).toBeUndefined();
    expect(await store.fetchPending(10)).toEqual([]);
    expect(await store.count()).toEqual({ pending: 0, dispatched: 1, dead: 0, total: 1 });
  });

  it('counts a failure and releases the row at once', async () => {
    await store.enqueue([entry]);
    const [row] = await store.fetchPending(10);
    expect(await store.fetchPending(10)).toEqual([]);
    await store.markFailed(String(row?.id), 'timeout');
    const [again] = await store.fetchPending(10);
    expect(again).toMatchObject({ id: row?.id, attempts: 1, lastError: 'timeout' });
  });

  it('leaves a dead row to operators, who requeue it', async () => {
    await store.enqueue([entry]);
    const [row] = await store.fetchPending(10);
    await store.markDead(String(row?.id), 'poison');
    const dead = await only('dead');
    expect(dead).toMatchObject({ id: row?.id, attempts: 1, lastError: 'poison' });
    expect(dead.deadAt).toBeInstanceOf(Date);
    expect(stateOf(dead)).toBe('dead');
    expect(await store.fetchPending(10)).toEqual([]);
    await store.requeue(dead.id);
    const pending = await only('pending');
    expect(pending).toMatchObject({ id: dead.id, attempts: 0 });
    expect(pending.deadAt).toBeUndefined();
    expect(await store.fetchPending(10)).toHaveLength(1);
  });

  it('peeks without claiming, and purges dispatched rows only', async () => {
    await store.enqueue(entries(3));
    expect(await store.peek({}, 2)).toHaveLength(2);
    const [dispatched, dead] = await store.fetchPending(2);
    await store.markDispatched([String(dispatched?.id)]);
    await store.markDead(String(dead?.id), 'poison');
    const later = new Date(Date.now() + 60_000);
    expect(await store.purgeDispatched(new Date(0))).toBe(0);
    expect(await store.purgeDispatched(later)).toBe(1);
    expect(await store.count()).toEqual({ pending: 1, dispatched: 0, dead: 1, total: 2 });
  });
});

describe('OutboxDispatcher.dispatchPending', () => {
  /** Writes down what the dispatcher asks of the store and of the publisher, in order. */
  function record(publish: (row: OutboxRow) => Promise<void>, config = {}) {
    const calls: string[] = [];
    class RecordingStore extends MemoryOutboxStore {
      override async fetchPending(limit: number): Promise<OutboxRow[]> {
        calls.push(`fetch ${limit}`);
        return super.fetchPending(limit);
      }
      override async settle(...[token, outcomes]: Parameters<OutboxStore['settle']>): Promise<string[]> {
        calls.push(`settle ${outcomes.map(({ kind }) => kind).join(' ')}`);
        return super.settle(token, outcomes);
      }
    }
    const store = new RecordingStore();
    const dispatcher = new OutboxDispatcher(
      store,
      async (row) => {
        calls.push(`publish ${JSON.stringify(row.payload)}`);
        await publish(row);
      },
      config,
    );
    return { store, dispatcher, calls };
  }

  it('claims a batch, publishes row by row, and marks all successes at once', async () => {
    const { store, dispatcher, calls } = record(async () => {});
    await store.enqueue([1, 2, 3].map((payload) => ({ topic: 'order.paid', payload })));
    const { fetched, dispatched, failed, dead } = await dispatcher.dispatchPending();
    expect({ fetched, dispatched, failed, dead }).toEqual({ fetched: 3, dispatched: 3, failed: 0, dead: 0 });
    expect(calls).toEqual([
      'fetch 50',
      'publish 1',
      'publish 2',
      'publish 3',
      'settle dispatched dispatched dispatched',
    ]);
  });

  it('fetches 50 rows unless batchSize or the call sets another limit', async () => {
    const { store, dispatcher } = record(async () => {});
    await store.enqueue(entries(100));
    expect(await dispatcher.dispatchPending()).toMatchObject({ fetched: 50 });
    expect(await dispatcher.dispatchPending(7)).toMatchObject({ fetched: 7 });
    const small = record(async () => {}, { batchSize: 2 });
    await small.store.enqueue(entries(3));
    expect(await small.dispatcher.dispatchPending()).toMatchObject({ fetched: 2 });
  });

  it('keeps the rows after a failing one', async () => {
    const { store, dispatcher } = record(async ({ payload }) => {
      if (payload === 2) throw new Error('broker down');
    });
    await store.enqueue([1, 2, 3].map((payload) => ({ topic: 'order.paid', payload })));
    expect(await dispatcher.dispatchPending()).toMatchObject({
      fetched: 3,
      dispatched: 2,
      failed: 1,
      dead: 0,
    });
    expect(await store.peek({ state: 'pending' }, 20)).toMatchObject([
      { payload: 2, attempts: 1, lastError: 'broker down' },
    ]);
  });

  it('retries forever by default', async () => {
    const { store, dispatcher } = record(() => Promise.reject(new Error('down')));
    await store.enqueue([entry]);
    for (let attempt = 0; attempt < 100; attempt++) {
      expect(await dispatcher.dispatchPending()).toMatchObject({ failed: 1, dead: 0 });
    }
    expect(await store.count()).toMatchObject({ pending: 1, dead: 0 });
  });

  it('moves the row to dead when the next attempt would equal maxAttempts', async () => {
    const { store, dispatcher } = record(() => Promise.reject(new Error('down')), { maxAttempts: 3 });
    await store.enqueue([entry]);
    expect(await dispatcher.dispatchPending()).toMatchObject({ failed: 1, dead: 0 });
    expect(await dispatcher.dispatchPending()).toMatchObject({ failed: 1, dead: 0 });
    expect(await dispatcher.dispatchPending()).toMatchObject({ fetched: 1, failed: 0, dead: 1 });
    expect(await store.peek({ state: 'dead' }, 20)).toMatchObject([{ attempts: 3, lastError: 'down' }]);
    expect(await dispatcher.dispatchPending()).toMatchObject({ fetched: 0 });
  });

  it('takes batchSize and maxAttempts from OutboxModule.forRoot', async () => {
    const publisher = () => Promise.reject(new Error('down'));
    const app = compose([
      OutboxModule.forRoot({ publisher, batchSize: 2, maxAttempts: 1 }),
      OutboxMemoryModule,
    ]);
    await app.get(OutboxStore).enqueue(entries(3));
    expect(await app.get(OutboxDispatcher).dispatchPending()).toMatchObject({ fetched: 2, dead: 2 });
  });
});
