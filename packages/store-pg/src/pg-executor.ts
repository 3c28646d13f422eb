import type { SqlExecutor, SqlRecord, SqlStatement } from '@postcommit/sql';
import type { PgClientLike, PgPoolClientLike, PgPoolLike } from './pg-client-like.js';

/** Runs statements on a pool, or on the client of the caller's transaction. */
export function pgExecutor(pool: PgPoolLike): SqlExecutor<PgClientLike> {
  return async (statements, tx) => {
    if (tx) return runAll(tx, statements);
    const [only, ...more] = statements;
    if (!only) return [];
    return more.length === 0
      ? (await pool.query(only.text, [...only.values])).rows
      : inTransaction(pool, statements);
  };
}

async function inTransaction(pool: PgPoolLike, statements: readonly SqlStatement[]): Promise<SqlRecord[]> {
  const client = await pool.connect();
  // A pool does not listen while a client is out, and an error event that nobody hears ends the process. What is
  // wrong reaches us through the next query too.
  client.on('error', ignore);
  try {
    await client.query('begin isolation level read committed');
    const records = await runAll(client, statements);
    await client.query('commit');
    release(client);
    return records;
  } catch (error) {
    await rollBack(client);
    throw error;
  }
}

/** A connection that can't even roll back is closed, not given to the next one. */
async function rollBack(client: PgPoolClientLike): Promise<void> {
  try {
    await client.query('rollback');
    release(client);
  } catch {
    release(client, true);
  }
}

function release(client: PgPoolClientLike, isBroken = false): void {
  client.off('error', ignore);
  client.release(isBroken);
}

function ignore(): void {}

async function runAll(
  client: { query(text: string, values: unknown[]): Promise<{ rows: Record<string, unknown>[] }> },
  statements: readonly SqlStatement[],
): Promise<SqlRecord[]> {
  let rows: SqlRecord[] = [];
  for (const { text, values } of statements) rows = (await client.query(text, [...values])).rows;
  return rows;
}
