import { SqlJobLock } from '@postcommit/store-sql';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PgOutboxStore, pgExecutor } from '../../store-pg/src/pg-outbox-store.js';
import { SqlDiagnostics } from '../src/capabilities/sql-diagnostics.js';
import { claimingListener } from './claiming-listener.js';
import { usePostgres } from './postgres-fixture.js';

const fixture = usePostgres();
const ROLE = `rounding_${process.pid}`;
const PAYLOAD = { pi: Math.PI, big: 9007199254740991, tiny: 1.7976931348623157e-300 };
const CREATED = '2026-11-18T15:04:05.678Z';
const LATER = '9000-01-01T00:00:00.123Z';
let url: string;
let pool: pg.Pool;
let store: PgOutboxStore;

/** A role for which the server prints floats with one digit. */
beforeAll(async () => {
  await fixture.query(`create role ${ROLE} login`);
  await fixture.query(`alter role ${ROLE} set extra_float_digits = -15`);
  await fixture.query(`grant all on all tables in schema public to ${ROLE}`);
  await fixture.query(`grant all on all sequences in schema public to ${ROLE}`);
  const asRole = new URL(fixture.url);
  asRole.username = ROLE;
  url = asRole.href;
  pool = new pg.Pool({ connectionString: url });
  store = new PgOutboxStore(pool, { wakeup: false });
});

afterAll(async () => {
  await pool.end();
  await fixture.query(`drop owned by ${ROLE}`);
  await fixture.query(`drop role ${ROLE}`);
});

async function enqueue(key?: string): Promise<void> {
  await fixture.clear();
  await store.enqueue(
    ['a', 'b', 'c', 'd'].map((id) => ({
      id,
      topic: 't',
      payload: PAYLOAD,
      ...(key !== undefined && { key }),
    })),
  );
  await fixture.query(`update outbox set created_at = $1, available_at = $1::timestamptz + interval '1 us'`, [
    CREATED,
  ]);
}

const EXACT = { payload: PAYLOAD, createdAt: new Date(CREATED), availableAt: new Date(CREATED) };

describe('a role with extra_float_digits = -15', () => {
  it('really prints floats with one digit', async () => {
    expect((await pool.query('select (1234.5::float8)::text as text')).rows).toEqual([{ text: '1e+03' }]);
  });

  it.each([
    ['without a key', undefined],
    ['with a key', 'k'],
  ])('claims, settles and lists rows %s exactly', async (_, key) => {
    await enqueue(key);
    const claimed = [...(await store.fetchPending(2)), ...(await store.fetchPending(2))];
    const expected = key === undefined ? 4 : 2;
    expect(claimed).toHaveLength(expected);
    for (const row of claimed) expect(row).toMatchObject(EXACT);
    const [first] = claimed;
    await store.settle(first?.claimToken, [{ id: 'a', kind: 'failed', error: 'x', delayMs: 12_345 }]);
    const [stored] = await fixture.query(
      `select extract(epoch from available_at - now())::float8 as delay from outbox where id = 'a'`,
    );
    expect(Number(stored?.delay)).toBeGreaterThan(2);
    expect(Number(stored?.delay)).toBeLessThanOrEqual(12.345);
    await store.markDispatched(['b'], claimed[1]?.claimToken);
    await fixture.query(`update outbox set dispatched_at = $1 where id = 'b'`, [CREATED]);
    expect(await store.peek({ state: 'dispatched' }, 1)).toMatchObject([
      { ...EXACT, dispatchedAt: new Date(CREATED) },
    ]);
  });

  it('claims exactly on the listener connection', async () => {
    await enqueue();
    const { claimSessions, stop } = await claimingListener(fixture, {
      executor: pgExecutor(pool),
      connection: { connectionString: url },
    });
    const own = new PgOutboxStore(pool, { claimSessions, wakeup: false });
    const claimed = [...(await own.fetchPending(2)), ...(await own.fetchPending(2))];
    await stop();
    expect(claimed).toHaveLength(4);
    for (const row of claimed) expect(row).toMatchObject(EXACT);
  });

  it('counts exactly', async () => {
    await fixture.clear();
    await fixture.query(
      `insert into outbox (id, topic, payload, created_at, available_at)
       select n::text, 't', '{}', now(), now() - interval '1234 s' from generate_series(1, 123) n`,
    );
    expect(await store.count()).toEqual({ pending: 123, dispatched: 0, dead: 0, total: 123 });
    const backlog = await store.backlog();
    expect(backlog).toMatchObject({ pending: 123, due: 123 });
    expect(backlog.oldestPendingAgeMs).toBeGreaterThanOrEqual(1_234_000);
    expect(backlog.oldestPendingAgeMs).toBeLessThan(1_400_000);
  });

  it('lists a time in the far future to the millisecond', async () => {
    await fixture.clear();
    await store.enqueue({ topic: 't', payload: 1, availableAt: new Date(LATER) });
    expect(await store.peek({}, 1)).toMatchObject([{ availableAt: new Date(LATER) }]);
  });

  it('takes a lock for the requested time', async () => {
    await fixture.query(`delete from outbox_locks`);
    expect(await new SqlJobLock(pgExecutor(pool)).acquire('job', 123_456)).toBeDefined();
    const [lock] = await fixture.query(
      `select extract(epoch from locked_until - now())::float8 as left from outbox_locks`,
    );
    expect(Number(lock?.left)).toBeGreaterThan(100);
    expect(Number(lock?.left)).toBeLessThanOrEqual(123.456);
  });

  it('reads the age of a transaction', async () => {
    const client = await pool.connect();
    await client.query('begin isolation level repeatable read');
    await client.query('select 1 from outbox');
    const found = await new SqlDiagnostics(pgExecutor(pool)).find({ transactionAgeMs: 0 });
    await client.query('rollback');
    client.release();
    expect(found.some(({ problem }) => /has been open for \d s and holds back vacuum/.test(problem))).toBe(
      true,
    );
  });
});
