import { readFileSync } from 'node:fs';
import { OutboxStore } from '@postcommit/core';
import { expect, it, onTestFinished, vi } from 'vitest';
import { ensureSchema, usePostgres } from '../../store-sql/test/postgres-fixture.js';
import { openShop, SHOP_TABLES } from './shop.js';

const guide = readFileSync(new URL('../../../docs/guides/from-a-status-column.md', import.meta.url), 'utf8');
const [moveSql = '', dropSql = '', countSql = ''] = [...guide.matchAll(/```sql\n([\s\S]*?)```/g)].map(
  ([, text = '']) => text,
);

const fixture = usePostgres(async (postgres) => {
  await ensureSchema(postgres);
  await postgres.query(SHOP_TABLES);
});

/** As Prisma makes it, or with times that know their zone. */
const oldTable = (time: string): string => `
  drop table if exists outbox_events;
  drop type if exists outbox_status;
  create type outbox_status as enum ('PENDING', 'PROCESSING', 'SENT', 'FAILED');
  create table outbox_events (
    id uuid primary key default gen_random_uuid(),
    event_type varchar(255) not null,
    payload jsonb not null,
    status outbox_status not null default 'PENDING',
    retry_count int not null default 0,
    max_retries int not null default 5,
    last_error text,
    created_at ${time} not null,
    updated_at ${time} not null,
    processed_at ${time}
  );
  insert into outbox_events
    (event_type, payload, status, retry_count, max_retries, last_error, created_at, updated_at)
  values
    ('order.created', '{"orderId": "second"}', 'PENDING', 0, 5, null, '2026-01-01T00:00:02Z', '2026-01-01T00:00:02Z'),
    ('order.created', '{"orderId": "first"}', 'PENDING', 0, 5, null, '2026-01-01T00:00:01Z', '2026-01-01T00:00:01Z'),
    ('order.created', '{"orderId": "retried"}', 'PENDING', 3, 7, 'down', '2026-01-01T00:00:03Z', '2026-01-01T01:00:00Z'),
    ('order.created', '{"orderId": "stuck"}', 'PROCESSING', 1, 5, 'down', '2026-01-01T00:00:04Z', '2026-01-01T01:00:00Z'),
    ('order.created', '{"orderId": "given up"}', 'FAILED', 5, 5, 'down', '2026-01-01T00:00:05Z', '2026-01-01T02:00:00Z'),
    ('order.lost', '{}', 'FAILED', 0, 5, 'No handlers', '2026-01-01T00:00:06Z', '2026-01-01T02:00:00Z'),
    ('order.created', '{"orderId": "sent"}', 'SENT', 0, 5, null, '2026-01-01T00:00:00Z', '2026-01-01T00:00:09Z')`;

it.each(['timestamp(3)', 'timestamptz'])(
  'events of a table with %s are migrated and handled',
  async (time) => {
    await fixture.query('truncate outbox');
    const session = await fixture.pool.connect();
    onTestFinished(() => session.release(true));
    await session.query(`set timezone = 'UTC'; ${oldTable(time)}`);
    // Where the session has another zone, times without one must not move.
    await session.query("set timezone = 'Asia/Tokyo'");
    const ids = (await session.query("select id from outbox_events where status <> 'SENT'")).rows;

    await session.query(moveSql);
    await session.query(moveSql);

    const moved = await fixture.query(`
    select payload ->> 'orderId' as order, attempts, max_attempts, last_error, dead_reason,
      to_char(created_at at time zone 'UTC', 'SS') as created,
      to_char(available_at at time zone 'UTC', 'HH24:MI:SS') as due,
      to_char(dead_at at time zone 'UTC', 'HH24:MI:SS') as died
    from outbox order by seq`);
    expect(moved.map((row) => Object.values(row))).toEqual([
      ['first', 0, 5, null, null, '01', '00:00:01', null],
      ['second', 0, 5, null, null, '02', '00:00:02', null],
      ['retried', 3, 7, 'down', null, '03', '01:00:04', null],
      ['stuck', 1, 5, 'down', null, '04', '00:00:04', null],
      ['given up', 5, 5, 'down', 'exhausted', '05', '00:00:05', '02:00:00'],
      [null, 0, 5, 'No handlers', 'no-listener', '06', '00:00:06', '02:00:00'],
    ]);
    const kept = await fixture.query('select id from outbox');
    expect(new Set(kept.map(({ id }) => id))).toEqual(new Set(ids.map(({ id }) => id)));
    expect(await fixture.query('select status from outbox_events')).toEqual([{ status: 'SENT' }]);
    expect((await fixture.query(countSql)).map(({ topic, failed_count }) => [topic, failed_count])).toEqual(
      expect.arrayContaining([
        ['order.created', '1'],
        ['order.lost', '1'],
      ]),
    );

    const tries: [order: string, attempt: number][] = [];
    const { nest } = await openShop({
      orm: 'prisma',
      url: fixture.url,
      handle: async ({ orderId }, { attempt }) => {
        tries.push([orderId, attempt]);
      },
    });
    onTestFinished(() => nest.close());
    const dispatched = async (): Promise<number> => (await nest.get(OutboxStore).count()).dispatched;
    await vi.waitUntil(async () => (await dispatched()) === 4, { timeout: 30_000, interval: 20 });
    expect(tries).toEqual([
      ['first', 1],
      ['second', 1],
      ['stuck', 2],
      ['retried', 4],
    ]);
    expect(await nest.get(OutboxStore).requeueWhere({ state: 'dead', topic: 'order.created' }, 100)).toBe(1);
    await vi.waitUntil(async () => (await dispatched()) === 5, { timeout: 30_000, interval: 20 });
    expect(tries.at(-1)).toEqual(['given up', 1]);
    await fixture.query(dropSql);
  },
);
