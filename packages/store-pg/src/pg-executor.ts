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
 * Runs statements on a pool, or on the client of the caller's transaction. Listens to the pool's `error` events, so that
 * a connection that is cut while it is idle does not end the process.
 *
 * @throws `INVALID_CONFIG` for what is not a pool, and for a pool whose `connectionString` is not PostgreSQL's.
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
 * A pool does not listen while a client is out, and an error event that nobody hears ends the process; what is wrong
 * reaches us through the next query too. By a callback, since the server may say that it ends a connection in the packet
 * that made it ready: a promise is told only after all of that packet was read.
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

function toQuery({ text, values }: SqlStatement): PgQuery {
  return { text, values: [...values] };
}

function ignore(): void {}
