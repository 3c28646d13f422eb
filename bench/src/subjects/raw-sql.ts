import { randomUUID } from 'node:crypto';
import { postgres, TableName } from '@postcommit/sql';
import type pg from 'pg';
import { BATCH_SIZE, payload, type Subject } from '../subject.js';
import { createOutbox, seedOutbox } from './outbox-table.js';

const table = new TableName();

/**
 * The limit: a program that only runs the same two statements on one connection, on the same table, and reads the
 * payloads, as any publisher has to.
 */
export const rawSql: Subject = {
  name: 'raw SQL limit',
  open: async (place) => {
    await createOutbox(place);
    const client = await place.pool.connect();
    return {
      seed: (workload) => seedOutbox(place, workload),
      drain: () => drainOn(client),
      enqueueOne: async (orderId) => {
        const own = await place.pool.connect();
        await own.query('begin');
        await own.query('insert into orders (number) values ($1)', [orderId]);
        await own.query("insert into outbox (id, topic, payload) values ($1, 'order.paid', $2)", [
          randomUUID(),
          JSON.stringify(payload(orderId)),
        ]);
        await own.query('commit');
        own.release();
      },
      enqueueBulk: async (count) => {
        const indexes = Array.from({ length: count }, (_, index) => index);
        await client.query('begin');
        await client.query(
          `insert into outbox (id, topic, payload)
           select id, 'order.paid', payload from unnest($1::varchar[], $2::jsonb[]) as u(id, payload)`,
          [indexes.map(() => randomUUID()), indexes.map((index) => JSON.stringify(payload(index)))],
        );
        await client.query('commit');
      },
      close: async () => client.release(),
    };
  },
};

/** The same on two connections at once. */
export const rawSqlTwice: Subject = {
  name: 'raw SQL limit, two connections',
  open: async (place) => {
    await createOutbox(place);
    const clients = await Promise.all([place.pool.connect(), place.pool.connect()]);
    return {
      seed: (workload) => seedOutbox(place, workload),
      drain: async () => {
        const counts = await Promise.all(clients.map((client) => drainOn(client)));
        return counts.reduce((sum, count) => sum + count, 0);
      },
      close: async () => {
        for (const client of clients) client.release();
      },
    };
  },
};

async function drainOn(client: pg.PoolClient): Promise<number> {
  const run = async ({ text, values }: { text: string; values: readonly unknown[] }) =>
    (await client.query(text, [...values])).rows;
  for (let total = 0; ; ) {
    const token = randomUUID();
    const rows = await run(
      postgres.claimUnkeyed(table, { token, timeoutMs: 300_000, limit: BATCH_SIZE, mayRetake: true }),
    );
    const ids = rows.flatMap(({ id }) => (id === null ? [] : [id as string]));
    for (const row of rows) publishNothing(JSON.parse(row.payload as string));
    if (ids.length === 0) return total;
    await run(postgres.settleDispatched(table, token, ids));
    total += ids.length;
  }
}

function publishNothing(_payload: unknown): void {}
