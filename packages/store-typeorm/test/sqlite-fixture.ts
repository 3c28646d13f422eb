import { SqlOutboxSchema, sqlite } from '@postcommit/store-sql';
import type { OutboxFixture, StoreHarness, TestTransaction } from '@postcommit/store-testkit';
import { TypeormOutboxStore, typeormDatabase } from '@postcommit/store-typeorm';
import { DataSource, type DataSourceOptions, type EntityManager } from 'typeorm';
import { afterEach } from 'vitest';
import { capabilities, SIDE_TIMES, TIMES } from '../../store-sql/test/sql-fixture.js';

type SqljsOptions = Extract<DataSourceOptions, { type: 'sqljs' }>;

/** Opens databases in memory, with the outbox in them, and closes them after each test. */
export function useSqlite(): (options?: Partial<SqljsOptions>) => Promise<DataSource> {
  const open: DataSource[] = [];
  afterEach(async () => {
    for (const dataSource of open.splice(0)) if (dataSource.isInitialized) await dataSource.destroy();
  });
  return async (options = {}) => {
    const dataSource = await new DataSource({ type: 'sqljs', ...options }).initialize();
    open.push(dataSource);
    await schemaOf(dataSource).ensure();
    return dataSource;
  };
}

export function schemaOf(dataSource: DataSource): SqlOutboxSchema {
  const { executor, table } = typeormDatabase(dataSource);
  return new SqlOutboxSchema(executor, table);
}

/** Lets time pass by moving every stored time into the past. */
export async function shiftTimes(dataSource: DataSource, ms: number): Promise<void> {
  for (const [table, times] of Object.entries({ outbox: TIMES, ...SIDE_TIMES })) {
    const shifted = times.map((column) => `${column} = ${column} - ${ms}`);
    await dataSource.query(`update ${table} set ${shifted.join(', ')}`);
  }
}

export async function beginOn(dataSource: DataSource): Promise<TestTransaction<EntityManager>> {
  const queryRunner = dataSource.createQueryRunner();
  await queryRunner.startTransaction();
  const end = async (finish: () => Promise<void>): Promise<void> => {
    if (queryRunner.isTransactionActive) await finish();
  };
  return {
    handle: queryRunner.manager,
    savepoint: async () => {
      await queryRunner.startTransaction();
      return () => queryRunner.rollbackTransaction();
    },
    commit: () => end(() => queryRunner.commitTransaction()),
    rollback: () => end(() => queryRunner.rollbackTransaction()),
  };
}

const ONE_CONNECTION =
  'TypeORM opens one connection to SQLite: while a transaction is open on it, everything else waits for its end';

export const sqliteHarness: StoreHarness<EntityManager> = {
  open: openOutbox,
  skip: [
    'entries enqueued in a transaction become visible when it commits',
    'two transactions do not see each other’s entries, and end independently',
    'a row whose transaction commits late is not claimed while a later row of its key is in flight',
    'a row of another key in the midst of them is found however late it commits',
  ].map((name) => ({ name, reason: ONE_CONNECTION })),
};

async function openOutbox(): Promise<OutboxFixture<EntityManager>> {
  const dataSource = await new DataSource({ type: 'sqljs' }).initialize();
  await schemaOf(dataSource).ensure();
  return {
    createStore: (options) => new TypeormOutboxStore(dataSource, options),
    now: async () => {
      const [record] = await dataSource.query(`select unixepoch('subsec') * 1000 as ms`);
      return new Date(record.ms);
    },
    advance: (ms) => shiftTimes(dataSource, ms),
    begin: () => beginOn(dataSource),
    ...capabilities(typeormDatabase(dataSource).executor, sqlite),
    close: () => dataSource.destroy(),
  };
}
