import { pgExecutor } from '@postcommit/store-pg';
import { SqlOutboxSchema } from '@postcommit/store-sql';
import { setUp } from '../place.js';
import { type OpenSubject, type Place, payload, type Workload } from '../subject.js';

export async function createOutbox(place: Place): Promise<void> {
  await setUp(place, (pool) => new SqlOutboxSchema(pgExecutor(pool)).ensure());
}

/** What is the same for all that work on our table. */
export function outboxTable(
  place: Place,
): Required<Pick<OpenSubject, 'seed' | 'left' | 'poisonHeads' | 'seedDispatched' | 'seedLater'>> {
  return {
    seed: (workload) => seedOutbox(place, workload),
    left: () => countPending(place),
    poisonHeads: () => poisonHeads(place),
    seedDispatched: (rows) => seedDispatched(place, rows),
    seedLater: (rows) => seedLater(place, rows),
  };
}

/** In the database itself, and quickly: seeding is not what is measured. */
export async function seedOutbox({ pool }: Place, { rows, keyOf, firstOrder = 0 }: Workload): Promise<void> {
  for (const indexes of pages(rows)) {
    await pool.query(
      `insert into outbox (id, topic, payload, key)
       select id, 'order.paid', payload::jsonb, key
       from unnest($1::varchar[], $2::text[], $3::varchar[]) with ordinality as u(id, payload, key, place)
       order by place`,
      [
        indexes.map((index) => `order-${firstOrder + index}`),
        indexes.map((index) => JSON.stringify(payload(firstOrder + index))),
        indexes.map((index) => keyOf?.(index) ?? null),
      ],
    );
  }
}

/** Indexes from 0, by the ten thousand. */
export function pages(rows: number, size = 10_000): number[][] {
  return Array.from({ length: Math.ceil(rows / size) }, (_, page) =>
    Array.from({ length: Math.min(size, rows - page * size) }, (_, offset) => page * size + offset),
  );
}

/**
 * Rows for later are not counted: nobody is to dispatch them. Each kind by the index that holds it: asked for both at
 * once, the server reads the table, dispatched rows and all.
 */
async function countPending({ pool }: Place): Promise<number> {
  const due = (kind: string): string =>
    `(select count(*) from outbox where dispatched_at is null and dead_at is null and ${kind} and available_at <= now())`;
  const { rows } = await pool.query<{ count: number }>(
    `select (${due('key is null')} + ${due('key is not null')})::int as count`,
  );
  return rows[0]?.count ?? 0;
}

async function poisonHeads({ pool }: Place): Promise<void> {
  await pool.query(`
    update outbox set available_at = now() + interval '1 hour', attempts = 1
    where seq in (select min(seq) from outbox where key is not null group by key)`);
}

async function seedDispatched({ pool }: Place, rows: number): Promise<void> {
  await pool.query(
    `insert into outbox (id, topic, payload, created_at, available_at, dispatched_at)
     select 'old-' || n, 'order.paid', jsonb_build_object('orderId', n, 'note', repeat('x', 160)),
       now() - interval '2 days', now() - interval '2 days', now() - interval '1 day'
     from generate_series(1, $1::int) n`,
    [rows],
  );
}

async function seedLater({ pool }: Place, rows: number): Promise<void> {
  await pool.query(
    `insert into outbox (id, topic, payload, available_at)
     select 'later-' || n, 'order.paid', jsonb_build_object('orderId', n, 'note', repeat('x', 160)),
       now() + interval '1 day'
     from generate_series(1, $1::int) n`,
    [rows],
  );
}
