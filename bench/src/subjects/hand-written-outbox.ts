import { randomUUID } from 'node:crypto';
import type { Pool, PoolClient } from 'pg';

export const SCHEMA = `
  create table messages (
    id uuid primary key,
    seq bigint generated always as identity,
    topic text not null,
    payload jsonb not null,
    created_at timestamptz not null default now(),
    dispatched_at timestamptz,
    attempts int not null default 0,
    last_error text
  );
  create index messages_pending on messages (seq) where dispatched_at is null;`;

export interface Message {
  readonly id: string;
  readonly topic: string;
  readonly payload: unknown;
}

/** In the caller's transaction, one statement for any number of messages. */
export async function addMessages(client: PoolClient, topic: string, payloads: unknown[]): Promise<void> {
  await client.query(
    'insert into messages (id, topic, payload) select id, $1, payload from unnest($2::uuid[], $3::jsonb[]) as m(id, payload)',
    [topic, payloads.map(() => randomUUID()), payloads.map((payload) => JSON.stringify(payload))],
  );
}

/** Locks a batch, publishes it and marks it, in one transaction. Gives how many rows it found. */
export async function relayBatch(
  client: PoolClient,
  batchSize: number,
  publish: (message: Message) => Promise<void>,
): Promise<number> {
  await client.query('begin');
  try {
    const { rows } = await client.query<Message>(
      `select id, topic, payload from messages where dispatched_at is null
       order by seq limit $1 for update skip locked`,
      [batchSize],
    );
    const done: string[] = [];
    for (const message of rows) {
      try {
        await publish(message);
        done.push(message.id);
      } catch (error) {
        const text = error instanceof Error ? error.message : String(error);
        const failed = 'update messages set attempts = attempts + 1, last_error = $2 where id = $1';
        await client.query(failed, [message.id, text]);
      }
    }
    await client.query('update messages set dispatched_at = now() where id = any($1::uuid[])', [done]);
    await client.query('commit');
    return rows.length;
  } catch (error) {
    await client.query('rollback');
    throw error;
  }
}

/** Batch after batch until the signal; waits for `pollMs` when a batch was not full. */
export async function relay(
  pool: Pool,
  publish: (message: Message) => Promise<void>,
  { batchSize, pollMs, signal }: { batchSize: number; pollMs: number; signal: AbortSignal },
): Promise<void> {
  while (!signal.aborted) {
    const client = await pool.connect();
    const found = await relayBatch(client, batchSize, publish).finally(() => client.release());
    if (found < batchSize) await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
}
