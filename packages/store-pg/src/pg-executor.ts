import {
  postgres,
  runWork,
  type SqlExecutor,
  type SqlRecord,
  type SqlStatement,
  type SqlWork,
} from '@postcommit/store-sql';
import { assertPool } from './assert-pool.js';
import type { PgClientLike, PgPoolClientLike, PgPoolLike, PgQuery } from './pg-client-like.js';
import { listenToErrors } from './pool-errors.js';

/**
 * Runs statements on a pool, or on the client of the caller's transaction. Handles the pool's `error` events, so that a
 * lost idle connection does not crash the process.
 *
 * @throws `INVALID_CONFIG` if `pool` is not a pool, or its `connectionString` is not for PostgreSQL.
 */
export function pgExecutor(pool: PgPoolLike): SqlExecutor<PgClientLike> {
  assertPool(pool);
  listenToErrors(pool);
  return async (work, tx) => {
    if (tx) return runWork(work, async ({ text, values }) => (await tx.query(text, [...values])).rows);
    return typeof work === 'function' ? inTransaction(pool, work) : (await pool.query(toQuery(work))).rows;
  };
}

async function inTransaction(pool: PgPoolLike, work: SqlWork): Promise<SqlRecord[]> {
  const client = await checkOut(pool);
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

/**
 * A pool does not handle the errors of a checked-out client, and an unhandled `error` event crashes the process. They can
 * be ignored, because the next query fails too. Uses a callback, not the promise: the server may close the connection in
 * the packet that makes it ready, and a promise resolves only after the whole packet was processed.
 */
function checkOut(pool: PgPoolLike): Promise<PgPoolClientLike> {
  return new Promise((resolve, reject) => {
    const listen = (client: PgPoolClientLike): void => {
      client.on('error', ignore);
      resolve(client);
    };
    const promised: Promise<PgPoolClientLike> | undefined = pool.connect((error, client) =>
      client ? listen(client) : reject(error),
    );
    promised?.then(listen, reject);
  });
}

/** Closes a client that fails to roll back: the next caller would continue its transaction. */
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

function toQuery({ text, values }: SqlStatement): PgQuery {
  return { text, values: [...values] };
}

function ignore(): void {}
