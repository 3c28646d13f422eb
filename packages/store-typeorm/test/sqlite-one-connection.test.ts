import { TypeormOutboxStore } from '@postcommit/store-typeorm';
import type { DataSource } from 'typeorm';
import { beforeEach, describe, expect, it } from 'vitest';
import { beginOn, useSqlite } from './sqlite-fixture.js';

const open = useSqlite();
let dataSource: DataSource;
let store: TypeormOutboxStore;

beforeEach(async () => {
  dataSource = await open();
  store = new TypeormOutboxStore(dataSource);
});

const entry = (id: string) => ({ id, topic: 'order.paid', payload: { id } });
const idsOf = (rows: readonly { id: string }[]) => rows.map(({ id }) => id);

/** Resolves when everything that needs no timer has proceeded. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('while the application’s transaction is open', () => {
  it('a claim waits for its end, and takes what was committed', async () => {
    const tx = await beginOn(dataSource);
    await store.enqueueWith(tx.handle, entry('m1'));
    const fetching = store.fetchPending(10);
    await turn();
    await store.enqueueWith(tx.handle, entry('m2'));
    await tx.commit();
    expect(idsOf(await fetching)).toEqual(['m1', 'm2']);
  });

  it('a claim does not take what is rolled back', async () => {
    const tx = await beginOn(dataSource);
    await store.enqueueWith(tx.handle, entry('m1'));
    const fetching = store.fetchPending(10);
    await turn();
    await tx.rollback();
    expect(await fetching).toEqual([]);
  });

  it('a count does not include uncommitted rows', async () => {
    const tx = await beginOn(dataSource);
    await store.enqueueWith(tx.handle, entry('m1'));
    const counting = store.count();
    await turn();
    await tx.rollback();
    expect((await counting).total).toBe(0);
  });

  it('an enqueue beside it is not rolled back with it', async () => {
    const tx = await beginOn(dataSource);
    const enqueuing = store.enqueue(entry('beside'));
    await turn();
    await tx.rollback();
    await enqueuing;
    expect(idsOf(await store.peek({}, 10))).toEqual(['beside']);
  });

  it('a claim waits even if TypeORM does not know of the transaction', async () => {
    await dataSource.query('begin');
    const enqueuing = store.enqueue(entry('beside'));
    await turn();
    await dataSource.query('rollback');
    await enqueuing;
    expect(idsOf(await store.peek({}, 10))).toEqual(['beside']);
  });

  const transactions: Record<string, () => Promise<() => Promise<unknown>>> = {
    'one of TypeORM': async () => (await beginOn(dataSource)).rollback,
    'one begun by plain SQL': async () => {
      await dataSource.query('begin');
      return () => dataSource.query('rollback');
    },
  };
  it.each(Object.entries(transactions))(
    'a statement that waits too long for %s fails with what to do',
    async (_name, begin) => {
      const impatient = new TypeormOutboxStore(dataSource, { busyTimeoutMs: 0 });
      const rollback = await begin();
      await expect(impatient.enqueue(entry('never'))).rejects.toMatchObject({
        code: 'INVALID_TRANSACTION',
        message: expect.stringMatching(/call only enqueueWith.*busyTimeoutMs/),
      });
      await rollback();
      expect((await store.count()).total).toBe(0);
    },
  );
});

it('beside transactions that commit and roll back, three dispatchers publish each committed row once', async () => {
  const ROUNDS = 60;
  const published: string[] = [];
  let isDone = false;
  const produce = async (): Promise<void> => {
    for (let round = 0; round < ROUNDS; round++) {
      const tx = await beginOn(dataSource);
      await store.enqueueWith(tx.handle, [entry(`a${round}`), { ...entry(`b${round}`), key: 'k' }]);
      await turn();
      await (round % 2 === 0 ? tx.commit() : tx.rollback());
      await turn();
    }
    isDone = true;
  };
  const dispatch = async (dispatcher: TypeormOutboxStore): Promise<void> => {
    for (let idle = 0; idle < 3; ) {
      const rows = await dispatcher.fetchPending(5);
      idle = rows.length === 0 && isDone ? idle + 1 : 0;
      published.push(...idsOf(rows));
      await dispatcher.markDispatched(idsOf(rows), rows[0]?.claimToken);
      await turn();
    }
  };
  await Promise.all([produce(), ...[0, 1, 2].map(() => dispatch(new TypeormOutboxStore(dataSource)))]);
  const committed = Array.from({ length: ROUNDS / 2 }, (_, index) => [
    `a${index * 2}`,
    `b${index * 2}`,
  ]).flat();
  expect([...published].sort()).toEqual([...committed].sort());
  const ofKey = published.filter((id) => id.startsWith('b')).map((id) => Number(id.slice(1)));
  expect(ofKey).toEqual([...ofKey].sort((a, b) => a - b));
});
