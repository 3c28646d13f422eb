import type { OutboxRow, OutboxStore } from '@postcommit/core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { PgOutboxStore } from '../../store-pg/src/pg-outbox-store.js';
import { SqlProcessedMessages } from '../src/capabilities/sql-processed-messages.js';
import { claimingListener } from './claiming-listener.js';
import { ensureSchema, type PostgresFixture, usePostgres } from './postgres-fixture.js';

const PENDING = 2_000;
const DISPATCHED = 1_000;
const KEYS = 100;
const LIMIT = 100;
const LONG_AGO = `now() - interval '30 days'`;

/** What the table is made of. Addresses within a table (ctid) repeat from one of its parts to the next. */
const STRUCTURES: Readonly<Record<string, readonly string[]>> = {
  'partitioned by a hash of the id': [
    'create table outbox (like plain including all) partition by hash (id)',
    ...[0, 1, 2, 3].map(
      (part) =>
        `create table part_${part} partition of outbox for values with (modulus 4, remainder ${part})`,
    ),
  ],
  'partitioned by range of its creation': [
    `create table outbox (like plain including all excluding indexes, primary key (id, created_at))
       partition by range (created_at)`,
    `create table part_old partition of outbox for values from (minvalue) to ('2026-01-01')`,
    `create table part_new partition of outbox for values from ('2026-01-01') to (maxvalue)`,
    `create index on outbox (available_at, seq) where dispatched_at is null and dead_at is null`,
  ],
  'with an archive that inherits from it': [
    'create table outbox (like plain including all)',
    'create table outbox_archive () inherits (outbox)',
  ],
};

describe.each(Object.keys(STRUCTURES))('a table %s', (structure) => {
  const fixture = usePostgres(async (own) => {
    await ensureSchema(own);
    await own.query('alter table outbox rename to plain');
    for (const text of STRUCTURES[structure] ?? []) await own.query(text);
  });
  const kinds = ['without a key', 'with a key'] as const;

  it.each(kinds)('two stores publish each pending row %s once, and no other', async (kind) => {
    await fill(fixture, kind === 'with a key');
    const published = await drain([new PgOutboxStore(fixture.pool), new PgOutboxStore(fixture.pool)]);
    expect(summary(published)).toEqual({ pending: PENDING, twice: 0, dispatched: 0 });
  });

  it.each(kinds)('so do two that claim on their listener connections: rows %s', async (kind) => {
    await fill(fixture, kind === 'with a key');
    const published = await drain([await listeningStore(fixture), await listeningStore(fixture)]);
    expect(summary(published)).toEqual({ pending: PENDING, twice: 0, dispatched: 0 });
  });

  it('a retaken row is claimed alone', async () => {
    await fill(fixture);
    await fixture.query(
      `update outbox set claim_token = 'x', claimed_at = ${LONG_AGO}, claimed_until = ${LONG_AGO}
       where id like 'p%' and dispatched_at is null`,
    );
    expect(await new PgOutboxStore(fixture.pool).fetchPending(LIMIT)).toHaveLength(1);
  });

  it.each(['dispatched', 'dead'] as const)('a purge of %s rows deletes them and no other', async (state) => {
    await fill(fixture);
    if (state === 'dead')
      await fixture.query(
        `update outbox set dead_at = dispatched_at, dispatched_at = null where id like 'd%'`,
      );
    const store = new PgOutboxStore(fixture.pool);
    const purge = state === 'dead' ? store.purgeDead : store.purgeDispatched;
    expect(await purge.call(store, { ageMs: 1_000 })).toBe(DISPATCHED);
    const left = await fixture.query('select id from outbox');
    expect(summary(left.map(({ id }) => String(id)))).toEqual({ pending: PENDING, twice: 0, dispatched: 0 });
  });
});

describe('a partitioned table of processed messages', () => {
  const fixture = usePostgres(async (own) => {
    await ensureSchema(own);
    await own.query('drop table outbox_processed');
    await own.query(
      `create table outbox_processed (consumer varchar, row_id varchar, processed_at timestamptz default now(),
         primary key (consumer, row_id)) partition by hash (row_id)`,
    );
    for (const part of [0, 1])
      await own.query(
        `create table seen_${part} partition of outbox_processed for values with (modulus 2, remainder ${part})`,
      );
  });

  it('purges the old ones and no other', async () => {
    await fixture.query(
      `insert into outbox_processed
       select 'c', n::text, case when n % 3 = 0 then now() else ${LONG_AGO} end from generate_series(1, 3000) n`,
    );
    const messages = new SqlProcessedMessages(fixture.executor);
    expect(await messages.purge({ ageMs: 1_000 })).toBe(2_000);
    expect(await fixture.query('select count(*)::int as left from outbox_processed')).toEqual([
      { left: 1_000 },
    ]);
  });
});

/** Dispatched rows are in every part of the table, the archive included, and so are pending ones but in the archive. */
async function fill({ query }: PostgresFixture, isKeyed = false): Promise<void> {
  await query('truncate outbox');
  const [archive] = await query(`select to_regclass('outbox_archive') is not null as exists`);
  const key = isKeyed ? `'key-' || n % ${KEYS}` : 'null';
  await query(
    `insert into ${archive?.exists ? 'outbox_archive' : 'outbox'}
       (id, seq, topic, payload, key, created_at, available_at, dispatched_at)
     select 'd' || n, n, 't', '{}', ${key}, ${LONG_AGO} - (n % 2) * interval '1 year', ${LONG_AGO}, ${LONG_AGO}
     from generate_series(1, ${DISPATCHED}) n`,
  );
  await query(
    `insert into outbox (id, topic, payload, key, created_at, available_at)
     select 'p' || n, 't', '{}', ${key}, now() - (n % 2) * interval '2 years', now() - interval '1 minute'
     from generate_series(1, ${PENDING}) n`,
  );
}

function summary(ids: readonly string[]): { pending: number; twice: number; dispatched: number } {
  const distinct = new Set(ids);
  const pending = [...distinct].filter((id) => id.startsWith('p')).length;
  return { pending, twice: ids.length - distinct.size, dispatched: distinct.size - pending };
}

async function listeningStore(fixture: PostgresFixture): Promise<PgOutboxStore> {
  const { claimSessions, stop } = await claimingListener(fixture);
  onTestFinished(stop);
  return new PgOutboxStore(fixture.pool, { claimSessions });
}

/** What the stores were given to publish, side by side, until neither finds any more. */
async function drain(stores: readonly OutboxStore[]): Promise<string[]> {
  const published: string[] = [];
  const drainOne = async (store: OutboxStore): Promise<void> => {
    let inVain = 0;
    // A keyed claim finds nothing while the other store has all keys.
    while (inVain < 20 && published.length < 10 * PENDING) {
      const rows: OutboxRow[] = await store.fetchPending(LIMIT);
      inVain = rows.length === 0 ? inVain + 1 : 0;
      const ids = rows.map(({ id }) => id);
      published.push(...ids);
      if (rows.length > 0) await store.markDispatched(ids, rows[0]?.claimToken);
    }
  };
  await Promise.all(stores.map(drainOne));
  return published;
}
