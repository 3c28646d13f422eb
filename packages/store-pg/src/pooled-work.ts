import {
  limitedPgQuery,
  postgres,
  runWork,
  type SqlRecord,
  type SqlStatement,
  type SqlWork,
  type StatementBound,
} from '@postcommit/store-sql';
import type { PgPoolLike, PgQuery } from './pg-client-like.js';
import { PooledClient } from './pooled-client.js';
import { replaceSilentClients } from './silent-clients.js';

type Steps = Extract<SqlWork, (...args: never) => unknown>;

export function toQuery({ text, values }: SqlStatement): PgQuery {
  return { text, values: [...values] };
}

/** Runs a transaction on a client of the pool. */
export async function inTransaction(pool: PgPoolLike, work: Steps): Promise<SqlRecord[]> {
  return transact(await PooledClient.checkOut(pool), work);
}

/** Runs work on a client of the pool, which is discarded when nobody waits for the work any more. */
export async function runBounded(
  pool: PgPoolLike,
  work: SqlWork,
  { serverMs, signal }: StatementBound,
): Promise<SqlRecord[]> {
  const pooled = await PooledClient.checkOut(pool);
  if (signal.aborted) {
    pooled.release();
    throw signal.reason;
  }
  const giveUp = (): void => {
    pooled.discard();
    replaceSilentClients(pool);
  };
  signal.addEventListener('abort', giveUp);
  try {
    return await (typeof work === 'function' ? transact(pooled, work) : query(pooled, work, serverMs));
  } finally {
    signal.removeEventListener('abort', giveUp);
  }
}

async function transact(pooled: PooledClient, work: Steps): Promise<SqlRecord[]> {
  const { client } = pooled;
  try {
    for (const text of postgres.begin) await client.query(text);
    const records = await runWork(work, async (statement) => (await client.query(toQuery(statement))).rows);
    await client.query('commit');
    pooled.release();
    return records;
  } catch (error) {
    await pooled.rollBack();
    throw error;
  }
}

/** Like `query` of a pool, closes the connection of a query that fails. */
async function query(pooled: PooledClient, statement: SqlStatement, serverMs: number): Promise<SqlRecord[]> {
  const { client } = pooled;
  try {
    const limited = limitedPgQuery(client, statement, serverMs);
    const records = await (limited ?? client.query(toQuery(statement)).then(({ rows }) => rows));
    pooled.release();
    return records;
  } catch (error) {
    pooled.discard();
    throw error;
  }
}
