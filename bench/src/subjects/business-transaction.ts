import type pg from 'pg';
import { monotonicMs, type Place } from '../subject.js';

/** One order, then what belongs to it, on a connection of the pool. Gives when COMMIT was sent. */
export async function businessTransaction(
  { pool }: Place,
  orders: readonly number[],
  enqueue: (client: pg.PoolClient) => Promise<unknown>,
): Promise<number> {
  const client = await pool.connect();
  try {
    await client.query('begin');
    await client.query('insert into orders (number) values ($1)', [orders[0] ?? 0]);
    if (orders.length > 0) await enqueue(client);
    const sentAt = monotonicMs();
    await client.query('commit');
    return sentAt;
  } finally {
    client.release();
  }
}
