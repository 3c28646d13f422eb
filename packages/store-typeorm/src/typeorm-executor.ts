import {
  limitedPgQuery,
  postgres,
  runWork,
  type SqlDialect,
  type SqlExecutor,
  type SqlRecord,
  type SqlStatement,
  type SqlWork,
  type StatementBound,
} from '@postcommit/store-sql';
import { type DataSource, QueryFailedError, type QueryRunner } from 'typeorm';
import { closeConnection, replaceSilentConnections } from './silent-connections.js';
import { type TypeormTransaction, transactionOf } from './typeorm-transaction.js';

/** Runs statements on the data source's pool, or on the connection of the caller's transaction. */
export function typeormExecutor(
  dataSource: DataSource,
  { begin }: Pick<SqlDialect, 'begin'> = postgres,
): SqlExecutor<TypeormTransaction> {
  return async (work, tx, bound) => {
    if (tx) return runOn(transactionOf(tx), work);
    const queryRunner = dataSource.createQueryRunner();
    const run = (): Promise<SqlRecord[]> =>
      typeof work === 'function' ? inTransaction(queryRunner, begin, work) : runOn(queryRunner, work);
    try {
      if (!bound) return await run();
      const connection = await queryRunner.connect();
      const limited = (): Promise<SqlRecord[]> =>
        (typeof work === 'function' ? undefined : limitedQuery(queryRunner, connection, work, bound)) ??
        run();
      return await unlessGivenUp(dataSource, connection, limited, bound);
    } finally {
      await queryRunner.release();
    }
  };
}

/**
 * Past the query runner, which only takes texts, with its log and its errors. Undefined if the driver can't limit a single
 * statement.
 */
function limitedQuery(
  { connection: { logger } }: QueryRunner,
  connection: Parameters<typeof limitedPgQuery>[0],
  statement: SqlStatement,
  { serverMs }: StatementBound,
): Promise<SqlRecord[]> | undefined {
  const values = [...statement.values];
  const running = limitedPgQuery(connection, statement, serverMs);
  if (running !== undefined) logger.logQuery(statement.text, values);
  return running?.catch((error: Error) => {
    logger.logQueryError(error, statement.text, values);
    throw new QueryFailedError(statement.text, values, error);
  });
}

/** Closes the connection when nobody waits for the work any more. A driver may then never answer its query. */
async function unlessGivenUp(
  dataSource: DataSource,
  connection: object,
  run: () => Promise<SqlRecord[]>,
  { signal }: StatementBound,
): Promise<SqlRecord[]> {
  if (signal.aborted) throw signal.reason;
  let stopListening: () => void = () => {};
  const givenUp = new Promise<never>((_, reject) => {
    const giveUp = (): void => {
      closeConnection(connection);
      replaceSilentConnections(dataSource);
      reject(signal.reason);
    };
    signal.addEventListener('abort', giveUp);
    stopListening = () => signal.removeEventListener('abort', giveUp);
  });
  try {
    return await Promise.race([run(), givenUp]);
  } finally {
    stopListening();
  }
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
    const connection: unknown = await queryRunner.connect().catch(() => undefined);
    if (connection instanceof Object) closeConnection(connection);
  }
}

/** Uses structured results: the plain ones have a different shape for UPDATE and DELETE than for SELECT. */
export function runOn(queryRunner: QueryRunner, work: SqlWork): Promise<SqlRecord[]> {
  return runWork(
    work,
    async ({ text, values }) => (await queryRunner.query(text, [...values], true)).records ?? [],
  );
}
