import type { OutboxStoreOptions, TransactionalOutboxStore } from '@postcommit/core';
import type { SqlDialect, SqlExecutor, TableName } from '@postcommit/store-sql';
import type { OutboxFixture, StoreHarness, TestTransaction } from '@postcommit/store-testkit';
import { SqlOutboxPauses } from '../src/capabilities/sql-outbox-pauses.js';
import { SqlOutboxWorkers } from '../src/capabilities/sql-outbox-workers.js';
import type { SqlSession } from './sql-session.js';

/** A database of its own for one test file, with the outbox in it, and what tests say to it in their own words. */
export interface SqlFixture {
  readonly dialect: SqlDialect;
  readonly table: TableName;
  /** The time now, as an expression. */
  readonly now: string;
  /** On a pool of connections. */
  readonly executor: SqlExecutor<never>;
  query(text: string, values?: unknown[]): Promise<Record<string, unknown>[]>;
  connect(options?: SessionOptions): Promise<SqlSession>;
  /** Empties the outbox, and counts from 1 again. */
  clear(): Promise<void>;
  /** Lets time pass by moving every stored time into the past. */
  shiftTimes(ms: number): Promise<void>;
}

export interface SessionOptions {
  /** Whoever waits longer for a lock fails. Default: the server's. */
  readonly lockTimeoutMs?: number;
}

/** The columns that `shiftTimes` moves. */
export const TIMES = [
  'created_at',
  'available_at',
  'dispatched_at',
  'dead_at',
  'claimed_at',
  'claimed_until',
];

/** The same for the tables beside the outbox. */
export const SIDE_TIMES: Readonly<Record<string, readonly string[]>> = {
  outbox_workers: ['started_at', 'last_seen', 'lost_at'],
  outbox_paused: ['paused_at'],
};

/** How a store's test makes its stores and transactions on the database. */
export interface SqlStores<Fixture extends SqlFixture, Tx> {
  createStore(fixture: Fixture, options?: OutboxStoreOptions): TransactionalOutboxStore<Tx>;
  begin(fixture: Fixture): Promise<TestTransaction<Tx>>;
  /** How the store's capabilities run their statements. @default as the fixture does */
  executor?(fixture: Fixture): SqlExecutor<never>;
}

export function storeHarness<Fixture extends SqlFixture, Tx>(
  fixture: Fixture,
  stores: SqlStores<Fixture, Tx>,
): StoreHarness<Tx> {
  return { open: () => openOutbox(fixture, stores) };
}

export function capabilities(
  executor: SqlExecutor<never>,
  dialect: SqlDialect,
): Pick<OutboxFixture, 'workers' | 'pauses'> {
  return {
    workers: new SqlOutboxWorkers(executor, { dialect }),
    pauses: new SqlOutboxPauses(executor, { dialect }),
  };
}

async function openOutbox<Fixture extends SqlFixture, Tx>(
  fixture: Fixture,
  stores: SqlStores<Fixture, Tx>,
): Promise<OutboxFixture<Tx>> {
  await fixture.clear();
  const open: TestTransaction<Tx>[] = [];
  return {
    createStore: (options) => stores.createStore(fixture, options),
    now: async () => {
      const [record] = await fixture.query(`select ${fixture.now} as now`);
      return record?.now as Date;
    },
    advance: (ms) => fixture.shiftTimes(ms),
    ...capabilities(stores.executor?.(fixture) ?? fixture.executor, fixture.dialect),
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
