import type { EventEmitter } from 'node:events';
import { VirtualClock } from '@postcommit/store-memory';
import { PgOutboxStore, pgExecutor } from '@postcommit/store-pg';
import type { SqlStatement, SqlSteps, SqlWork } from '@postcommit/store-sql';
import pg from 'pg';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { usePostgres } from '../../store-sql/test/postgres-fixture.js';
import { type TcpProxy, tcpProxy } from '../../store-sql/test/tcp-proxy.js';

const fixture = usePostgres();
const LIMIT_MS = 5_000;
const SLEEP = statement("select pg_sleep(20), current_setting('statement_timeout') as setting");
const SETTING = statement("select current_setting('statement_timeout') as setting where $1", true);

beforeEach(() => fixture.clear());

function statement(text: string, ...values: unknown[]): SqlStatement {
  return { text, values };
}

function openPool(options: pg.PoolConfig = {}): pg.Pool {
  // Not even an idle connection goes by itself.
  const pool = new pg.Pool({ connectionString: fixture.url, idleTimeoutMillis: 0, ...options });
  pool.on('error', () => {});
  onTestFinished(() => void pool.end());
  return pool;
}

function run(pool: pg.Pool, work: SqlWork, serverMs = 100, signal = new AbortController().signal) {
  return pgExecutor(pool)(work, undefined, { serverMs, signal });
}

describe('the server ends a statement', () => {
  it('that takes longer than its limit', async () => {
    await expect(run(openPool(), SLEEP)).rejects.toMatchObject({ code: '57014' });
  });

  it('without another round trip, and only this statement has the limit', async () => {
    const pool = openPool({ max: 1 });
    const client = await pool.connect();
    const answered = vi.fn();
    (client as unknown as { connection: EventEmitter }).connection.on('readyForQuery', answered);
    client.release();
    expect(await run(pool, SETTING)).toEqual([{ setting: '100ms' }]);
    expect(answered).toHaveBeenCalledTimes(1);
    expect((await pool.query("select current_setting('statement_timeout') as setting")).rows).toEqual([
      { setting: '0' },
    ]);
  });

  it('sooner if the role says so', async () => {
    const pool = openPool({ options: '-c statement_timeout=70' });
    expect(await run(pool, SETTING)).toEqual([{ setting: '70ms' }]);
  });

  it('of a pool whose clients are not those of pg only by their own limit', async () => {
    const pool = openPool();
    const other = {
      query: pool.query.bind(pool),
      connect: async () => {
        const client = await pool.connect();
        return {
          query: (query: string) => client.query<Record<string, unknown>>(query),
          release: (error?: Error | boolean) => client.release(error),
          on: client.on.bind(client),
          off: client.off.bind(client),
        };
      },
    };
    const bound = { serverMs: 100, signal: new AbortController().signal };
    expect(await pgExecutor(other as never)(SETTING, undefined, bound)).toEqual([{ setting: '0' }]);
  });

  it('and an error leaves the statement’s own', async () => {
    await expect(run(openPool(), statement('select $1::int / 0', 1))).rejects.toMatchObject({
      code: '22012',
    });
  });
});

describe('work that is given up', () => {
  function* sleepingSteps(): SqlSteps {
    yield statement('select 1');
    return yield SLEEP;
  }

  it.each([
    ['a statement', SLEEP],
    ['a transaction', sleepingSteps],
  ])('closes its connection: %s', async (name, work) => {
    const pool = openPool({ application_name: name });
    const giveUp = new AbortController();
    const failed = expect(run(pool, work, 60_000, giveUp.signal)).rejects.toThrow();
    const isAsleep = "select from pg_stat_activity where wait_event = 'PgSleep' and application_name = $1";
    await vi.waitFor(async () => expect(await fixture.query(isAsleep, [name])).toHaveLength(1));
    giveUp.abort(new Error('nobody waits'));
    await failed;
    expect(pool.totalCount).toBe(0);
  });

  it('before it had a connection runs nothing, and returns the one it gets', async () => {
    const pool = openPool({ max: 1 });
    const client = await pool.connect();
    const giveUp = new AbortController();
    const running = run(pool, statement('create table never_made ()'), 100, giveUp.signal);
    const failed = expect(running).rejects.toThrow('nobody waits');
    giveUp.abort(new Error('nobody waits'));
    client.release();
    await failed;
    const { rows } = await pool.query("select to_regclass('never_made') as made");
    expect(rows).toEqual([{ made: null }]);
  });
});

describe('a store whose open connections turn silent', () => {
  let clock: VirtualClock;
  let proxy: TcpProxy;
  let pool: pg.Pool;
  let store: PgOutboxStore;

  beforeEach(async () => {
    clock = new VirtualClock();
    proxy = await tcpProxy(fixture.url);
    pool = openPool({ connectionString: proxy.url });
    store = new PgOutboxStore(pool, { clock, wakeup: false });
  });

  async function fallSilent(connections: number): Promise<void> {
    await Promise.all(Array.from({ length: connections }, () => pool.query('select pg_sleep(0.05)')));
    expect(pool.idleCount).toBe(connections);
    proxy.freeze();
    proxy.thaw();
  }

  async function untilSent(): Promise<void> {
    await vi.waitFor(() => expect(pool.idleCount).toBeLessThan(pool.totalCount));
  }

  it.each([
    ['without a key', {}],
    ['with a key', { key: 'k' }],
  ])('claims rows %s after one limit, however many connections were idle', async (_name, key) => {
    await new PgOutboxStore(fixture.pool, { wakeup: false }).enqueue({ topic: 't', payload: {}, ...key });
    await fallSilent(5);
    const failed = expect(store.fetchPending(10)).rejects.toThrow(
      'claim: the database has not answered for 5000 ms',
    );
    await untilSent();
    await clock.advance(LIMIT_MS);
    // What may have been claimed is released on a connection that works.
    await failed;
    expect(await store.fetchPending(10)).toHaveLength(1);
  });

  it('records outcomes on another one', async () => {
    await store.enqueue({ id: 'x', topic: 't', payload: {} });
    const [row] = await store.fetchPending(10);
    await fallSilent(3);
    const outcomes = [{ id: 'x', kind: 'dispatched' as const }];
    const failed = expect(store.settle(row?.claimToken, outcomes)).rejects.toThrow('settle: the database');
    await untilSent();
    await clock.advance(LIMIT_MS);
    await failed;
    expect(await store.settle(row?.claimToken, outcomes)).toEqual(['x']);
  });

  it('lets schema changes, purges and operators take their time', async () => {
    await fallSilent(1);
    const purged = vi.fn();
    store.purgeDispatched({ ageMs: 0 }).then(purged, purged);
    await untilSent();
    await clock.advance(3_600_000);
    expect(purged).not.toHaveBeenCalled();
  });
});
