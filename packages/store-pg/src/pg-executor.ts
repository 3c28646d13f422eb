import {
  postgres,
  runWork,
  type SqlExecutor,
  type SqlRecord,
  type SqlStatement,
  type SqlWork,
} from '@postcommit/sql';
import type { PgClientLike, PgPoolClientLike, PgPoolLike } from './pg-client-like.js';
import { type PgQuery, PreparedStatements } from './prepared-statements.js';

/** Runs statements on a pool, or on the client of the caller's transaction. */
export function pgExecutor(pool: PgPoolLike): SqlExecutor<PgClientLike> {
  const prepared = new PreparedStatements();
  return async (work, tx) => {
    // Not prepared: where that fails, it would take the caller's transaction along.
    if (tx) return runWork(work, async ({ text, values }) => (await tx.query(text, [...values])).rows);
    return prepared.run(async (toQuery) =>
      typeof work === 'function'
        ? inTransaction(pool, work, toQuery)
        : (await pool.query(toQuery(work))).rows,
    );
  };
}

async function inTransaction(
  pool: PgPoolLike,
  work: SqlWork,
  toQuery: (statement: SqlStatement) => PgQuery,
): Promise<SqlRecord[]> {
  const client = await pool.connect();
  // A pool does not listen while a client is out, and an error event that nobody hears ends the process. What is
  // wrong reaches us through the next query too.
  client.on('error', ignore);
  try {
    for (const text of postgres.begin) await client.query(text);
    const records = await runWork(work, async (statement) => (await client.query(toQuery(statement))).rows);
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
