import { SqlOutboxSchema } from '@postcommit/sql';
import { pgExecutor } from '@postcommit/store-pg';
import { type Place, payload, type Workload } from '../subject.js';

export async function createOutbox({ pool }: Place): Promise<void> {
  await new SqlOutboxSchema(pgExecutor(pool)).ensure();
}

/** In the database itself, and quickly: seeding is not what is measured. */
export async function seedOutbox({ pool }: Place, { rows, keyOf }: Workload, prefix = 'seed'): Promise<void> {
  const page = 20_000;
  for (let from = 0; from < rows; from += page) {
    const indexes = Array.from({ length: Math.min(page, rows - from) }, (_, offset) => from + offset);
    await pool.query(
      `insert into outbox (id, topic, payload, key)
       select id, 'order.paid', payload::jsonb, key
       from unnest($1::varchar[], $2::text[], $3::varchar[]) with ordinality as u(id, payload, key, place)
       order by place`,
      [
        indexes.map((index) => `${prefix}-${index}`),
        indexes.map((index) => JSON.stringify(payload(index))),
        indexes.map((index) => keyOf?.(index) ?? null),
      ],
    );
  }
}

export async function seedDispatched({ pool }: Place, rows: number): Promise<void> {
  await pool.query(
    `insert into outbox (id, topic, payload, created_at, available_at, dispatched_at)
     select 'old-' || n, 'order.paid', jsonb_build_object('orderId', n, 'note', repeat('x', 160)),
       now() - interval '2 days', now() - interval '2 days', now() - interval '1 day'
     from generate_series(1, $1::int) n`,
    [rows],
  );
}

export async function seedLater({ pool }: Place, rows: number): Promise<void> {
  await pool.query(
    `insert into outbox (id, topic, payload, available_at)
     select 'later-' || n, 'order.paid', jsonb_build_object('orderId', n, 'note', repeat('x', 160)), now() + interval '1 day'
     from generate_series(1, $1::int) n`,
    [rows],
  );
}
