import type { SqlExecutor, SqlRecord, SqlStatement } from '@postcommit/sql';
import type { DataSource, EntityManager, QueryRunner } from 'typeorm';
import { transactionOf } from './typeorm-transaction.js';

/** Runs statements on a data source, or on the connection of the caller's transaction. */
export function typeormExecutor(dataSource: DataSource): SqlExecutor<EntityManager> {
  return async (statements, tx) => {
    if (tx) return runAll(transactionOf(tx), statements);
    const queryRunner = dataSource.createQueryRunner();
    try {
      return statements.length > 1
        ? await inTransaction(queryRunner, statements)
        : await runAll(queryRunner, statements);
    } finally {
      await queryRunner.release();
    }
  };
}

/** Not `startTransaction`: that sends the isolation level in a round trip of its own. */
async function inTransaction(
  queryRunner: QueryRunner,
  statements: readonly SqlStatement[],
): Promise<SqlRecord[]> {
  try {
    await queryRunner.query('begin isolation level read committed');
    const records = await runAll(queryRunner, statements);
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
    await connection?.end?.().catch(() => {});
  }
}

interface Closeable {
  end?(): Promise<void>;
}

/** The structured result: the plain one has another shape for UPDATE and DELETE than for SELECT. */
async function runAll(queryRunner: QueryRunner, statements: readonly SqlStatement[]): Promise<SqlRecord[]> {
  let records: SqlRecord[] = [];
  for (const { text, values } of statements) {
    records = (await queryRunner.query(text, [...values], true)).records;
  }
  return records;
}
