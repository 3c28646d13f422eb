import {
  postgres,
  runWork,
  type SqlDialect,
  type SqlExecutor,
  type SqlRecord,
  type SqlWork,
} from '@postcommit/store-sql';
import type { DataSource, EntityManager, QueryRunner } from 'typeorm';
import { transactionOf } from './typeorm-transaction.js';

/** Runs work on a pool of connections, or on the connection of the caller's transaction. */
export function typeormExecutor(
  dataSource: DataSource,
  { begin }: Pick<SqlDialect, 'begin'> = postgres,
): SqlExecutor<EntityManager> {
  return async (work, tx) => {
    if (tx) return runOn(transactionOf(tx), work);
    const queryRunner = dataSource.createQueryRunner();
    try {
      return await (typeof work === 'function'
        ? inTransaction(queryRunner, begin, work)
        : runOn(queryRunner, work));
    } finally {
      await queryRunner.release();
    }
  };
}

/** Not `startTransaction`: that sends the isolation level in a round trip of its own. */
async function inTransaction(
  queryRunner: QueryRunner,
  begin: readonly string[],
  work: SqlWork,
): Promise<SqlRecord[]> {
  try {
    for (const text of begin) await queryRunner.query(text);
    const records = await runOn(queryRunner, work);
    await queryRunner.query('commit');
    return records;
  } catch (error) {
    await rollBack(queryRunner);
    throw error;
  }
}

/** A connection that can't even roll back is closed, not given to the next one. */
async function rollBack(queryRunner: QueryRunner): Promise<void> {
  try {
    await queryRunner.query('rollback');
  } catch {
    const connection = (await queryRunner.connect().catch(() => undefined)) as Closeable | undefined;
    // The one of mysql2 only goes back to its pool by `end`; the one of pg has no `destroy`.
    if (connection?.destroy) connection.destroy();
    else await connection?.end?.().catch(() => {});
  }
}

interface Closeable {
  destroy?(): void;
  end?(): Promise<void>;
}

/** The structured result: the plain one has another shape for UPDATE and DELETE than for SELECT. */
export function runOn(queryRunner: QueryRunner, work: SqlWork): Promise<SqlRecord[]> {
  return runWork(
    work,
    async ({ text, values }) => (await queryRunner.query(text, [...values], true)).records ?? [],
  );
}
