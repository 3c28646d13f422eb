import {
  composeModules,
  OutboxDispatcher,
  OutboxModule,
  OutboxPauses,
  OutboxSchema,
  OutboxStore,
} from '@postcommit/core';
import { OutboxWorkers } from '@postcommit/core/internal';
import { OutboxPgModule, type PgClientLike, PgOutboxStore, pgExecutor } from '@postcommit/store-pg';
import { SqlOutboxSchema, SqlOutboxStore } from '@postcommit/store-sql';
import pg from 'pg';
import { beforeEach, describe, expect, it } from 'vitest';
import { usePostgres } from '../../store-sql/test/postgres-fixture.js';
import { statementsOf } from '../../store-sql/test/sql-session.js';

const fixture = usePostgres();
const entry = { id: 'm1', topic: 'order.paid', payload: { id: 1 } };

beforeEach(async () => {
  await fixture.query('truncate outbox');
});

async function withClient<T>(work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  const client = await fixture.pool.connect();
  try {
    return await work(client);
  } finally {
    await client.query('rollback');
    client.release();
  }
}

describe('a handle that is not a transaction is refused, and nothing is stored', () => {
  const refusal = { name: 'OutboxError', code: 'INVALID_TRANSACTION' };

  it('a pool, by type and at run time', async () => {
    const store = new PgOutboxStore(fixture.pool);
    // @ts-expect-error a pool is no transaction
    await expect(store.enqueueWith(fixture.pool, entry)).rejects.toMatchObject(refusal);
    expect((await store.count()).total).toBe(0);
  });

  it('a client outside a transaction', async () => {
    const store = new PgOutboxStore(fixture.pool);
    await withClient((client) => expect(store.enqueueWith(client, entry)).rejects.toMatchObject(refusal));
    expect((await store.count()).total).toBe(0);
  });

  it('a client whose transaction has ended', async () => {
    const store = new PgOutboxStore(fixture.pool);
    await withClient(async (client) => {
      await client.query('begin');
      await client.query('commit');
      await expect(store.enqueueWith(client, entry)).rejects.toMatchObject(refusal);
    });
  });

  it('a closed client rejects with the driver’s error', async () => {
    const store = new PgOutboxStore(fixture.pool);
    const client = new pg.Client({ connectionString: fixture.url });
    await client.connect();
    await client.query('begin');
    await client.end();
    await expect(store.enqueueWith(client, entry)).rejects.toThrow(/closed|not queryable/i);
    expect((await store.count()).total).toBe(0);
  });
});

describe('errors of the driver', () => {
  it('reach the caller unchanged', async () => {
    const store = new PgOutboxStore(fixture.pool);
    await withClient(async (client) => {
      await client.query('begin');
      await client.query('select 1 / 0').catch(() => {});
      const error = await store.enqueueWith(client, entry).catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(pg.DatabaseError);
      expect(error).toMatchObject({ code: '25P02' });
    });
  });

  it('a serialization failure is the driver’s own', async () => {
    const store = new PgOutboxStore(fixture.pool);
    await store.enqueue(entry);
    await withClient(async (client) => {
      await client.query('begin isolation level repeatable read');
      await client.query('select * from outbox');
      await store.markFailed('m1', 'x');
      const onClient = new PgOutboxStore({
        query: (query) => client.query(query),
        connect: async () => ({
          query: (query) => client.query<Record<string, unknown>>(query),
          release: () => {},
          on: client.on.bind(client),
          off: client.off.bind(client),
        }),
      });
      await expect(onClient.markFailed('m1', 'y')).rejects.toMatchObject({ code: '40001' });
    });
  });

  it('a missing table is reported with the command that creates it', async () => {
    const store = new PgOutboxStore(fixture.pool, { table: 'nowhere' });
    const refusal = { code: 'SCHEMA_OUTDATED', message: expect.stringContaining('outbox:migrate') };
    await expect(store.enqueue(entry)).rejects.toMatchObject(refusal);
    await expect(store.fetchPending(1)).rejects.toMatchObject(refusal);
  });
});

describe('a claim whose answer never arrives', () => {
  /** Runs every statement, and loses the answer of each claim. */
  class DeafStore extends SqlOutboxStore<PgClientLike> {
    constructor(lostAnswer: Error) {
      const executor = pgExecutor(fixture.pool);
      super(async (work, tx) => {
        const records = await executor(work, tx);
        if (statementsOf(work).some(({ text }) => text.includes('claimed_at ='))) throw lostAnswer;
        return records;
      });
    }
    protected assertTransaction(): void {}
  }

  it.each([{ key: undefined }, { key: 'k' }])(
    'is released, and the error is the driver’s own ($key)',
    async ({ key }) => {
      const lost = new Error('Connection terminated unexpectedly');
      const deaf = new DeafStore(lost);
      await deaf.enqueue({ ...entry, key });
      const published: string[] = [];
      const dispatcher = new OutboxDispatcher(deaf, async (row) => published.push(row.id));
      await expect(dispatcher.dispatchPending()).rejects.toBe(lost);
      expect(published).toEqual([]);
      expect(await new PgOutboxStore(fixture.pool).fetchPending(10)).toMatchObject([
        { id: 'm1', retakes: 0 },
      ]);
    },
  );
});

describe('OutboxPgModule', () => {
  it('composes the store with its schema, and dispatches', async () => {
    const published: unknown[] = [];
    const app = composeModules([
      OutboxModule.forRoot({ publisher: async (row) => published.push(row.payload) }),
      OutboxPgModule.forRoot({ pool: fixture.pool, table: 'other_outbox', claimTimeoutMs: 60_000 }),
    ]);
    await app.get(OutboxSchema).ensure();
    expect(app.get(OutboxStore)).toBe(app.get(PgOutboxStore));
    expect(app.get(OutboxStore).claimTimeoutMs).toBe(60_000);
    await withClient(async (client) => {
      await client.query('begin');
      await app.get(PgOutboxStore).enqueueWith(client, entry);
      await client.query('commit');
    });
    expect(await app.get(OutboxDispatcher).dispatchPending()).toMatchObject({ dispatched: 1 });
    expect(published).toEqual([{ id: 1 }]);
    await app.get(OutboxPauses).pause('order.paid');
    expect((await app.get(OutboxStore).lookAhead()).pausedTopics).toEqual(['order.paid']);
    const worker = { id: 'w1', host: 'h', pid: 1, version: '1', takeoverMs: 1_000 };
    await app.get(OutboxWorkers).register(worker, { rowsInFlight: 0, isListening: true, outages: [] });
    expect(await fixture.query('select id from other_outbox_workers')).toEqual([{ id: 'w1' }]);
    expect(await new SqlOutboxSchema(pgExecutor(fixture.pool), { table: 'other_outbox' }).check()).toEqual(
      [],
    );
  });
});
