import { assertPool } from './assert-pool.js';
import type { PgPoolLike } from './pg-client-like.js';

/** The part of a pool that `inTransaction` uses. A `pg` pool fits. */
export interface TransactionPool {
  connect(): Promise<TransactionClient>;
}

/** The part of a client that `inTransaction` uses. */
export interface TransactionClient {
  query(text: string): Promise<unknown>;
  release(error?: Error | boolean): void;
}

/** The clients of a pool. Inference reads the last overload of `connect`, and in `pg` that one takes a callback. */
type ClientOf<Pool extends TransactionPool> = Pool['connect'] extends {
  (): Promise<infer Client extends TransactionClient>;
  (callback: never): void;
}
  ? Client
  : TransactionClient;

/**
 * Runs `work` in a transaction on a client of the pool: commits when it resolves, rolls back when it throws. Returns the
 * result of `work`, or throws its error, even if the rollback fails as well. A client that fails to roll back is closed.
 *
 * Let the error of a failed statement through. PostgreSQL has then aborted the transaction, and its COMMIT stores nothing.
 *
 * @throws `INVALID_CONFIG` for anything but a pool.
 *
 * @example
 * await inTransaction(pool, async (tx) => {
 *   await tx.query("update orders set status = 'paid' where id = $1", [id]);
 *   await outbox.enqueueWith(tx, { topic: 'order.paid', key: id, payload: { id } });
 * });
 */
export async function inTransaction<Pool extends TransactionPool, Result>(
  pool: Pool,
  work: (tx: ClientOf<Pool>) => Promise<Result>,
): Promise<Result> {
  if (typeof pool?.connect !== 'function') assertPool(pool as unknown as PgPoolLike);
  const client = await pool.connect();
  try {
    await client.query('begin');
    const result = await work(client as ClientOf<Pool>);
    await client.query('commit');
    client.release();
    return result;
  } catch (error) {
    await rollBack(client);
    throw error;
  }
}

/** Closes a client that fails to roll back: the next caller would continue its transaction. */
async function rollBack(client: TransactionClient): Promise<void> {
  try {
    await client.query('rollback');
    client.release();
  } catch {
    client.release(true);
  }
}
