/** What `inTransaction` needs of a pool. A `pg` pool fits. */
export interface TransactionPool<Client extends TransactionClient> {
  connect(): Promise<Client>;
}

/** What `inTransaction` needs of a client. */
export interface TransactionClient {
  query(text: string): Promise<unknown>;
  release(error?: Error | boolean): void;
}

/**
 * Runs `work` in a transaction on a client of the pool: commits when it resolves, rolls back when it throws. Returns the
 * result of `work`, or throws its error, even if the rollback fails as well. A client that fails to roll back is closed.
 *
 * Let the error of a failed statement through. PostgreSQL has then aborted the transaction, and its COMMIT stores nothing.
 *
 * @example
 * await inTransaction(pool, async (tx) => {
 *   await tx.query("update orders set status = 'paid' where id = $1", [id]);
 *   await outbox.enqueueWith(tx, { topic: 'order.paid', key: id, payload: { id } });
 * });
 */
export async function inTransaction<Client extends TransactionClient, Result>(
  pool: TransactionPool<Client>,
  work: (tx: Client) => Promise<Result>,
): Promise<Result> {
  const client = await pool.connect();
  try {
    await client.query('begin');
    const result = await work(client);
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
