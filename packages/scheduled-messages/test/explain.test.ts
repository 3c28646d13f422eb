import { ScheduleService } from '@postcommit/scheduled-messages';
import { PgOutboxStore } from '@postcommit/store-pg';
import { postgres } from '@postcommit/store-sql';
import { beforeAll, describe, expect, test } from 'vitest';
import { ensureSchema, type PostgresFixture, usePostgres } from '../../store-sql/test/postgres-fixture.js';
import { claimOf, TABLE } from '../../store-sql/test/sql-session.js';
import { DAY_MS, reminder } from './schedules-fixture.js';

const FUTURE = 200_000;
const DUE = 30;
const LIMIT = 20;

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Rows Removed by Index Recheck'?: number;
  readonly Plans?: readonly PlanNode[];
}

const fixture = usePostgres(fill);

/** Copies of rows that the service itself wrote, so that they are what it writes. */
async function fill({ pool, query }: PostgresFixture): Promise<void> {
  await ensureSchema(fixture);
  await pool.query('alter table outbox set (autovacuum_enabled = false)');
  const schedules = new ScheduleService(new PgOutboxStore(pool));
  await schedules.scheduleAt(reminder({ id: 'future', runAt: new Date(Date.now() + 30 * DAY_MS) }));
  await schedules.scheduleAt(reminder({ id: 'due', runAt: new Date(Date.now() - DAY_MS) }));
  const copies = (id: string, count: number, spread: string): Promise<unknown> =>
    query(
      `insert into outbox (id, topic, payload, headers, available_at, max_attempts, backoff)
       select id || n, topic, payload, headers, available_at + n * interval '${spread}', max_attempts, backoff
       from outbox, generate_series(1, ${count}) n where id = $1`,
      [id],
    );
  await copies('future', FUTURE - 1, '1 second');
  await copies('due', DUE - 1, '1 millisecond');
}

/** How many rows any scan of the table read, those that a filter threw away included. */
async function rowsReadByClaim(mode: string): Promise<{ read: number; seqScans: number; claimed: number }> {
  const { text, values } = postgres.claimUnkeyed(TABLE, claimOf({ limit: LIMIT }));
  const client = await fixture.pool.connect();
  try {
    await client.query('begin');
    await client.query(`set local plan_cache_mode = force_${mode}_plan`);
    await client.query('set local max_parallel_workers_per_gather = 0');
    await client.query(`prepare s as ${text}`);
    const list = values
      .map((value) => (value === null ? 'null' : client.escapeLiteral(String(value))))
      .join(', ');
    const { rows } = await client.query(`explain (analyze, format json) execute s(${list})`);
    const nodes = nodesOf(rows[0]['QUERY PLAN'][0].Plan);
    const scans = nodes.filter(
      (node) => /Scan$/.test(node['Node Type']) && node['Relation Name'] === 'outbox',
    );
    const { rows: claimed } = await client.query(
      'select count(*)::int as n from outbox where claim_token is not null',
    );
    return {
      read: scans.reduce((sum, node) => sum + readBy(node), 0),
      seqScans: scans.filter((node) => node['Node Type'] === 'Seq Scan').length,
      claimed: claimed[0].n,
    };
  } finally {
    await client.query('rollback');
    await client.query('deallocate all');
    client.release();
  }
}

function nodesOf(node: PlanNode): PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(nodesOf)];
}

function readBy(node: PlanNode): number {
  const removed = (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0);
  return Math.round((node['Actual Rows'] + removed) * node['Actual Loops']);
}

describe.each(['never analysed', 'analysed'])(`with ${FUTURE} schedules in the future, %s`, (statistics) => {
  beforeAll(async () => {
    if (statistics === 'analysed') await fixture.query('analyze outbox');
  });

  test.each(['custom', 'generic'])('a claim reads only due rows; %s plan', async (mode) => {
    const { read, seqScans, claimed } = await rowsReadByClaim(mode);
    expect(claimed).toBe(LIMIT);
    expect(seqScans).toBe(0);
    // Each once to lock and once to update; one look for keyed rows.
    expect(read).toBeLessThanOrEqual(2 * LIMIT + 1);
  });
});

describe('with nothing due at all', () => {
  beforeAll(() => fixture.query("delete from outbox where id like 'due%'"));

  test.each(['custom', 'generic'])('a claim reads no future row; %s plan', async (mode) => {
    expect(await rowsReadByClaim(mode)).toEqual({ read: 0, seqScans: 0, claimed: 0 });
  });
});
