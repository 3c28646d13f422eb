import {
  postgres,
  runWork,
  type SqlDialect,
  type SqlExecutor,
  type SqlRecord,
  type SqlWork,
} from '@postcommit/store-sql';
import type { DataSource, QueryRunner } from 'typeorm';
import { type TypeormTransaction, transactionOf } from './typeorm-transaction.js';

/** Runs statements on the data source's pool, or on the connection of the caller's transaction. */
export function typeormExecutor(
  dataSource: DataSource,
  { begin }: Pick<SqlDialect, 'begin'> = postgres,
): SqlExecutor<TypeormTransaction> {
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

/** Not `startTransaction`, which sends the isolation level in a separate round trip. */
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

/** Closes a connection that fails to roll back: the next caller would continue its transaction. */
async function rollBack(queryRunner: QueryRunner): Promise<void> {
  try {
    await queryRunner.query('rollback');
  } catch {
    const connection = (await queryRunner.connect().catch(() => undefined)) as Closeable | undefined;
    // In mysql2, `end` only returns the connection to its pool; in pg, there is no `destroy`.
    if (connection?.destroy) connection.destroy();
    else await connection?.end?.().catch(() => {});
  }
}

interface Closeable {
  destroy?(): void;
  end?(): Promise<void>;
}

/** Uses structured results: the plain ones have a different shape for UPDATE and DELETE than for SELECT. */
export function runOn(queryRunner: QueryRunner, work: SqlWork): Promise<SqlRecord[]> {
  return runWork(
    work,
    async ({ text, values }) => (await queryRunner.query(text, [...values], true)).records ?? [],
  );
}
