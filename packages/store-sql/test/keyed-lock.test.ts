import { VirtualClock } from '@postcommit/store-memory';
import pg from 'pg';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { PgOutboxStore, pgExecutor } from '../../store-pg/src/pg-outbox-store.js';
import { SqlDiagnostics } from '../src/capabilities/sql-diagnostics.js';
import { type CountingPool, countingPool } from './counting-pool.js';
import { usePostgres } from './postgres-fixture.js';

const fixture = usePostgres();
const LOCK = `1886352244, 'outbox'::regclass::oid::int`;
/** More than the store waits for the lock, on a machine that is busy. */
const BOUND_MS = 10_000;

let clock: VirtualClock;
let pool: CountingPool;
let store: PgOutboxStore;
let problems: Error[];

beforeEach(async () => {
  await fixture.clear();
  clock = new VirtualClock();
  pool = countingPool(fixture.pool);
  store = new PgOutboxStore(pool, { clock, wakeup: false });
  problems = [];
  store.onProblem((error) => problems.push(error as Error));
});

interface Stranger {
  readonly pid: number;
  /** Ends the session, and with it the lock. */
  release(): Promise<void>;
}

/** A role without any grant that holds the lock of keyed claims. */
async function strangerWithLock(text = `select pg_advisory_lock(${LOCK})`): Promise<Stranger> {
  const role = `stranger_${process.pid}_${Math.random().toString(36).slice(2, 10)}`;
  await fixture.query(`create role ${role} login`);
  const url = new URL(fixture.url);
  url.username = role;
  const client = new pg.Client({ connectionString: url.href, application_name: `nobody's "job"` });
  await client.connect();
  let isOpen = true;
  const release = async (): Promise<void> => {
    if (!isOpen) return;
    isOpen = false;
    await client.end();
    await fixture.query(`drop role ${role}`);
  };
  onTestFinished(release);
  await client.query(text);
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  return { pid: rows[0]?.pid ?? 0, release };
}

const ids = async (limit = 10): Promise<string[]> => (await store.fetchPending(limit)).map(({ id }) => id);

/** Lets the store try again, for so long. */
async function tryFor(ms: number): Promise<string[]> {
  const found: string[] = [];
  for (let passed = 0; passed < ms; passed += 500) {
    await clock.advance(500);
    found.push(...(await ids()));
  }
  return found;
}

describe('while another session holds the lock of keyed claims', () => {
  it('unkeyed rows are claimed within a bounded time, and keyed rows after its release', async () => {
    const stranger = await strangerWithLock();
    await store.enqueue([
      { id: 'keyed', topic: 't', payload: 1, key: 'k' },
      { id: 'free', topic: 't', payload: 1 },
    ]);
    const startedAt = performance.now();
    expect(await ids()).toEqual(['free']);
    expect(performance.now() - startedAt).toBeLessThan(BOUND_MS);
    await stranger.release();
    expect(await tryFor(5_000)).toEqual(['keyed']);
    expect(problems).toEqual([]);
  });

  it('a claim waits for the lock once, then tries it less and less often', async () => {
    await strangerWithLock();
    await store.enqueue({ topic: 't', payload: 1, key: 'k' });
    expect(await ids()).toEqual([]);
    pool.taken();
    for (let claims = 0; claims < 10; claims++) await ids();
    expect(pool.taken().filter((text) => text.startsWith('begin'))).toHaveLength(0);
    await tryFor(20_000);
    const tries = pool.taken().filter((text) => text.startsWith('begin')).length;
    expect(tries).toBeGreaterThanOrEqual(5);
    expect(tries).toBeLessThanOrEqual(15);
  });

  it('it is reported once, with its holder and how to end it', async () => {
    const { pid } = await strangerWithLock();
    await store.enqueue({ topic: 't', payload: 1, key: 'k' });
    await ids();
    await tryFor(2_000);
    expect(problems, 'a claimer of ours may stall for so long').toEqual([]);
    await tryFor(40_000);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatchObject({ code: 'KEYED_CLAIMS_BLOCKED' });
    expect(problems[0]?.message).toMatch(
      new RegExp(
        `session ${pid} \\(role "stranger_\\w+", application "nobody's \\\\"job\\\\""\\) holds the advisory lock`,
      ),
    );
    expect(problems[0]?.message).toContain(`select pg_terminate_backend(${pid});`);
  });

  it('it is reported again when it happens again', async () => {
    await store.enqueue([1, 2].map((payload) => ({ topic: 't', payload, key: `k${payload}` })));
    for (const reports of [1, 2]) {
      const stranger = await strangerWithLock();
      await tryFor(40_000);
      expect(problems).toHaveLength(reports);
      await stranger.release();
      expect(await tryFor(5_000)).toHaveLength(reports === 1 ? 2 : 1);
      await store.enqueue({ topic: 't', payload: 3, key: 'k3' });
    }
  });

  it('a shared lock in a transaction counts like any other', async () => {
    await strangerWithLock(`begin; select pg_advisory_xact_lock_shared(${LOCK})`);
    await store.enqueue({ id: 'free', topic: 't', payload: 1 });
    await store.enqueue({ topic: 't', payload: 1, key: 'k' });
    expect(await ids()).toEqual(['free']);
  });

  it('the doctor names it', async () => {
    const { pid } = await strangerWithLock();
    const found = await new SqlDiagnostics(pgExecutor(fixture.pool)).find({ transactionAgeMs: 3_600_000 });
    expect(found).toEqual([
      {
        level: 'tuning',
        problem: expect.stringContaining(`session ${pid} (role "stranger_`),
        fix: `select pg_terminate_backend(${pid});`,
      },
    ]);
  });
});

describe('other workers that claim keyed rows', () => {
  it('are awaited, and not reported', async () => {
    const others = Array.from({ length: 8 }, () => new PgOutboxStore(fixture.pool, { wakeup: false }));
    for (const other of others) other.onProblem((error) => problems.push(error as Error));
    await store.enqueue(Array.from({ length: 400 }, (_, n) => ({ topic: 't', payload: n, key: `k${n}` })));
    const claimed = await Promise.all(
      others.map(async (other) => {
        const rows: string[] = [];
        for (let claims = 0; claims < 10; claims++)
          rows.push(...(await other.fetchPending(10)).map(({ id }) => id));
        return rows;
      }),
    );
    expect(new Set(claimed.flat()).size).toBe(claimed.flat().length);
    expect(claimed.flat().length).toBe(400);
    expect(problems).toEqual([]);
  });

  it('are not named by the doctor while they hold the lock for a moment', async () => {
    const client = await fixture.pool.connect();
    onTestFinished(() => client.release());
    await client.query('begin');
    await client.query(`select pg_advisory_xact_lock(${LOCK})`);
    const found = await new SqlDiagnostics(pgExecutor(fixture.pool)).find({ transactionAgeMs: 3_600_000 });
    await client.query('rollback');
    expect(found).toEqual([]);
  });
});

it('only the wait for the lock is bounded: the role’s lock_timeout applies to the claim', async () => {
  const client = await fixture.pool.connect();
  onTestFinished(() => client.release());
  await client.query(`set lock_timeout = '7s'`);
  const seen: unknown[] = [];
  const watching = {
    query: async (query: string | { text: string; values: unknown[] }) => {
      const answer = await client.query<Record<string, unknown>>(query);
      const isLock = typeof query !== 'string' && query.text.includes('pg_advisory_xact_lock');
      if (isLock) seen.push((await client.query('show lock_timeout')).rows[0]);
      return answer;
    },
    on: client.on.bind(client),
    off: client.off.bind(client),
    release: () => {},
  };
  const own = new PgOutboxStore({ query: watching.query, connect: async () => watching }, { wakeup: false });
  await own.enqueue({ topic: 't', payload: 1, key: 'k' });
  expect(await own.fetchPending(1)).toHaveLength(1);
  expect(seen).toEqual([{ lock_timeout: '7s' }]);
  await client.query('reset lock_timeout');
});
