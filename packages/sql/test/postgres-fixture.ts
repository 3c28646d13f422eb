import type { OutboxStoreOptions, TransactionalOutboxStore } from '@postcommit/core';
import { SqlOutboxSchema } from '@postcommit/sql';
import type { OutboxFixture, StoreHarness, TestTransaction } from '@postcommit/store-testkit';
import { createTestDatabase, type TestDatabase } from '@postcommit/tooling/test-database';
import pg from 'pg';
import { afterAll, beforeAll } from 'vitest';
import { pgExecutor } from '../../store-pg/src/pg-executor.js';

/** A database of its own for one test file, with the outbox in it. */
export interface PostgresFixture {
  readonly url: string;
  readonly pool: pg.Pool;
  query(text: string, values?: unknown[]): Promise<Record<string, unknown>[]>;
}

/** How a store's test makes its stores and transactions on the database. */
export interface PostgresStores<Tx> {
  createStore(fixture: PostgresFixture, options?: OutboxStoreOptions): TransactionalOutboxStore<Tx>;
  begin(fixture: PostgresFixture): Promise<TestTransaction<Tx>>;
}

/** Registers the life of the database with vitest; use what it returns inside tests only. */
export function usePostgres(
  prepare: (fixture: PostgresFixture) => Promise<void> = ensureSchema,
): PostgresFixture {
  let database: TestDatabase | undefined;
  let pool: pg.Pool | undefined;
  const fixture: PostgresFixture = {
    get url() {
      if (!database) throw new Error('the database is there only while tests run');
      return database.url;
    },
    get pool() {
      if (!pool) throw new Error('the pool is there only while tests run');
      return pool;
    },
    query: async (text, values = []) => (await fixture.pool.query(text, values)).rows,
  };
  beforeAll(async () => {
    database = await createTestDatabase();
    pool = new pg.Pool({ connectionString: database.url, max: 20 });
    await prepare(fixture);
  });
  afterAll(async () => {
    await pool?.end();
    await database?.drop();
  });
  return fixture;
}

export async function ensureSchema({ pool }: PostgresFixture): Promise<void> {
  await new SqlOutboxSchema(pgExecutor(pool)).ensure();
}

const TIMES = ['created_at', 'available_at', 'dispatched_at', 'dead_at', 'claimed_at', 'claimed_until'];

/** Lets time pass by moving every stored time into the past. */
export async function shiftTimes({ query }: PostgresFixture, ms: number): Promise<void> {
  const shifted = TIMES.map((column) => `${column} = ${column} - $1::float8 * interval '1 millisecond'`);
  await query(`update outbox set ${shifted.join(', ')}`, [ms]);
}

export function postgresHarness<Tx>(fixture: PostgresFixture, stores: PostgresStores<Tx>): StoreHarness<Tx> {
  return { open: () => openOutbox(fixture, stores) };
}

async function openOutbox<Tx>(
  fixture: PostgresFixture,
  stores: PostgresStores<Tx>,
): Promise<OutboxFixture<Tx>> {
  await fixture.query('truncate outbox restart identity');
  const open: TestTransaction<Tx>[] = [];
  return {
    createStore: (options) => stores.createStore(fixture, options),
    now: async () => {
      const [record] = await fixture.query(
        'select extract(epoch from clock_timestamp())::float8 * 1000 as ms',
      );
      return new Date(Number(record?.ms));
    },
    advance: (ms) => shiftTimes(fixture, ms),
    begin: async () => {
      const tx = await stores.begin(fixture);
      open.push(tx);
      return tx;
    },
    // A behaviour that failed half way leaves its transactions open.
    close: async () => {
      await Promise.all(open.map((tx) => tx.rollback().catch(() => {})));
    },
  };
}
