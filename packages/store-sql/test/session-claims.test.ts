import type { OutboxStoreOptions } from '@postcommit/core';
import { VirtualClock } from '@postcommit/store-memory';
import type { SqlExecutor } from '@postcommit/store-sql';
import pg from 'pg';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { PgOutboxStore, pgExecutor } from '../../store-pg/src/pg-outbox-store.js';
import { type ClaimingListener, claimingListener, type ListenerOptions } from './claiming-listener.js';
import { type CountingPool, countingPool } from './counting-pool.js';
import { usePostgres } from './postgres-fixture.js';
import { tcpProxy } from './tcp-proxy.js';

const fixture = usePostgres();
const CLAIM_MS = 5_000;
const CLOSE_MS = 1_000;
const UNRESPONSIVE_AFTER_MS = 1_000;
const CLAIM = 'with due';

let clock: VirtualClock;
let pool: CountingPool;

beforeEach(async () => {
  await fixture.clear();
  clock = new VirtualClock();
  pool = countingPool(fixture.pool);
});

async function open(options: ListenerOptions = {}): Promise<ClaimingListener & { store: PgOutboxStore }> {
  const listener = await claimingListener(fixture, { clock, ...options });
  onTestFinished(listener.stop);
  return Object.assign(listener, { store: storeOn(listener) });
}

function storeOn(
  { claimSessions }: Pick<ClaimingListener, 'claimSessions'>,
  options: OutboxStoreOptions = {},
): PgOutboxStore {
  return new PgOutboxStore(pool, { claimSessions, clock, wakeup: false, ...options });
}

async function enqueue(...ids: string[]): Promise<void> {
  const store = new PgOutboxStore(fixture.pool, { wakeup: false });
  await store.enqueue(ids.map((id) => ({ id, topic: 'order.paid', payload: { id } })));
}

/** Whoever claims waits, until the returned function is called. */
async function lockTable(): Promise<() => Promise<void>> {
  const client = await fixture.pool.connect();
  await client.query('begin');
  await client.query('lock table outbox in exclusive mode');
  let isLocked = true;
  const unlock = async (): Promise<void> => {
    if (!isLocked) return;
    isLocked = false;
    await client.query('commit');
    client.release();
  };
  onTestFinished(unlock);
  return unlock;
}

async function waiting(count: number): Promise<void> {
  const found = (): Promise<unknown[]> =>
    fixture.query(
      `select pid from pg_stat_activity
       where datname = current_database() and wait_event_type = 'Lock' and query ~ 'skip locked'`,
    );
  await expect.poll(async () => (await found()).length, { timeout: 20_000, interval: 5 }).toBe(count);
}

describe('a claim of unkeyed rows', () => {
  it('runs on the listener connection, and its rows are settled on the pool', async () => {
    const { store, prepared } = await open();
    await enqueue('a', 'b');
    const rows = await store.fetchPending(10);
    expect(rows.map(({ id, payload }) => [id, payload])).toEqual([
      ['a', { id: 'a' }],
      ['b', { id: 'b' }],
    ]);
    expect(pool.taken()).toEqual([]);
    await store.markDispatched(['a', 'b'], rows[0]?.claimToken);
    expect(pool.taken()).toHaveLength(1);
    expect(await store.count()).toMatchObject({ pending: 0, dispatched: 2 });
    expect(await prepared()).toEqual({ claims: 1, names: 1 });
  });

  it('is prepared once for each of its forms', async () => {
    const { store, prepared } = await open();
    await enqueue(...Array.from({ length: 8 }, (_, index) => `r${index}`));
    // From the front, behind a full batch, and from the front again.
    for (let claims = 1; claims <= 20; claims++) await store.fetchPending(1);
    const { claims, names } = await prepared();
    expect(names).toBe(2);
    expect(claims).toBeGreaterThanOrEqual(20);
  });

  it('is prepared once for each of its forms, whatever topics it leaves out', async () => {
    const { store, prepared } = await open();
    await enqueue(...Array.from({ length: 8 }, (_, index) => `r${index}`));
    for (let claims = 1; claims <= 20; claims++) {
      const exceptTopics = Array.from({ length: 1 + (claims >> 3) }, (_, index) => `away-${index}`);
      await store.fetchPending(1, { exceptTopics });
    }
    // From the front, behind that, and behind a full batch.
    expect((await prepared()).names).toBe(3);
    expect(await store.fetchPending(10)).toEqual([]);
    expect(pool.taken()).toEqual([]);
  });

  it('uses another connection while that one is busy, without claiming the same rows', async () => {
    const { store } = await open();
    await enqueue('a', 'b');
    const unlock = await lockTable();
    const claims = [store.fetchPending(1), store.fetchPending(1)];
    await waiting(2);
    expect(pool.taken()).toEqual([CLAIM]);
    await unlock();
    const ids = (await Promise.all(claims)).flatMap((rows) => rows.map(({ id }) => id));
    expect(ids.sort()).toEqual(['a', 'b']);
  });

  it.each([
    [200, []],
    [201, ['with chosen']],
  ])('uses the pool for many rows of a backlog: of %i', async (limit, onPool) => {
    const { store } = await open();
    await enqueue(...Array.from({ length: 2 * limit }, (_, index) => `r${index}`));
    expect(await store.fetchPending(limit)).toHaveLength(limit);
    expect(pool.taken()).toEqual([]);
    expect(await store.fetchPending(limit)).toHaveLength(limit);
    expect(pool.taken()).toEqual(onPool);
  });

  it.each([
    [200, []],
    [201, ['with due_window']],
  ])('so does one that leaves topics out: of %i', async (limit, onPool) => {
    const { store } = await open();
    const exceptTopics = ['away'];
    await enqueue(...Array.from({ length: 2 * limit }, (_, index) => `r${index}`));
    expect(await store.fetchPending(limit, { exceptTopics })).toHaveLength(limit);
    expect(pool.taken()).toEqual([]);
    expect(await store.fetchPending(limit, { exceptTopics })).toHaveLength(limit);
    expect(pool.taken()).toEqual(onPool);
  });

  it('is READ COMMITTED, whatever the default is', async () => {
    const { store } = await open({
      connection: { options: '-c default_transaction_isolation=serializable' },
    });
    await fixture.query('create table seen (level text)');
    await fixture.query(
      `create function see() returns trigger language plpgsql as $$
         begin insert into seen values (current_setting('transaction_isolation')); return new; end $$`,
    );
    await fixture.query('create trigger see before update on outbox for each row execute function see()');
    onTestFinished(async () => {
      await fixture.query('drop trigger see on outbox');
      await fixture.query('drop function see');
      await fixture.query('drop table seen');
    });
    await enqueue('a');
    await store.fetchPending(1);
    expect(await fixture.query('select level from seen')).toEqual([{ level: 'read committed' }]);
  });

  it('does not read the whole table if it was empty when the plan was made', async () => {
    const DISPATCHED = 5_000;
    const { store, query } = await open();
    await fixture.query('alter table outbox set (autovacuum_enabled = false)');
    const rowsRead = async (): Promise<number> => {
      // By the session that has read them: it would keep its figures for itself for a while.
      await query('select pg_stat_force_next_flush()');
      const [found] = await fixture.query(
        `select seq_tup_read::int as rows from pg_stat_user_tables where relname = 'outbox'`,
      );
      return Number(found?.rows);
    };
    for (let claims = 0; claims < 10; claims++) await store.fetchPending(10);
    await fixture.query(
      `insert into outbox (id, topic, payload, dispatched_at)
       select 'd' || n, 't', '{}', now() from generate_series(1, ${DISPATCHED}) n`,
    );
    await enqueue('a');
    const before = await rowsRead();
    for (let claims = 0; claims < 10; claims++) await store.fetchPending(10);
    expect((await rowsRead()) - before).toBeLessThan(DISPATCHED);
    expect(pool.taken()).toEqual([]);
  });
});

describe('if rows can’t be settled', () => {
  it('none is claimed while the pool does not answer', async () => {
    let isFull = false;
    const executor: SqlExecutor<never> = (work) => (isFull ? new Promise(() => {}) : fixture.executor(work));
    const { claimSessions, prepared } = await open({ executor });
    const full = Object.assign(countingPool(fixture.pool), {
      connect: () => (isFull ? new Promise<never>(() => {}) : fixture.pool.connect()),
    });
    const store = new PgOutboxStore(full, { claimSessions, clock, wakeup: false });
    await enqueue('a', 'b');
    const [row] = await store.fetchPending(1);
    isFull = true;
    void store.markDispatched(['a'], row?.claimToken);
    await clock.advance(UNRESPONSIVE_AFTER_MS);
    void store.fetchPending(1);
    // Asked on the same connection: had that been claimed on, it would be answered later.
    expect(await prepared()).toMatchObject({ claims: 1 });
  });

  it('nor while it fails, until it has answered again', async () => {
    const { claimSessions, prepared } = await open();
    let isDown = false;
    const failing = Object.assign(countingPool(fixture.pool), {
      connect: () => (isDown ? Promise.reject(new Error('no connection free')) : fixture.pool.connect()),
    });
    const store = new PgOutboxStore(failing, { claimSessions, clock, wakeup: false });
    isDown = true;
    await expect(store.extendClaim('token', ['a'])).rejects.toThrow('no connection free');
    await expect(store.fetchPending(1)).rejects.toThrow('no connection free');
    expect(await prepared()).toMatchObject({ claims: 0 });
    isDown = false;
    // First the pool answers the release of the claim that failed.
    await store.fetchPending(1);
    expect(await prepared()).toMatchObject({ claims: 1 });
  });
});

describe('a pool that has moved to another server than the listener connection', () => {
  it('finds none of the claimed rows: the connection is replaced, and the next claim runs on the pool', async () => {
    const { claimSessions, record } = await open();
    await fixture.query('create schema elsewhere');
    await fixture.query('create table elsewhere.outbox (like outbox including all)');
    const elsewhere = new pg.Pool({ connectionString: fixture.url, options: '-c search_path=elsewhere' });
    onTestFinished(async () => {
      await elsewhere.end();
      await fixture.query('drop schema elsewhere cascade');
    });
    const moved = countingPool(elsewhere);
    const store = new PgOutboxStore(moved, { claimSessions, clock, wakeup: false });
    await enqueue('a');
    const [row] = await store.fetchPending(10);
    expect(moved.taken(), 'claimed on the connection that listens').toEqual([]);
    expect(await store.markDispatched(['a'], row?.claimToken)).toEqual([]);
    expect(await record.next()).toEqual(['retrying']);
    expect(record.errors).toMatchObject([{ message: expect.stringContaining('different server') }]);
    moved.taken();
    expect(await store.fetchPending(10)).toEqual([]);
    expect(moved.taken()).toEqual([CLAIM]);
  });

  it('a pool that finds some of them, or is asked without a token, has not moved', async () => {
    const { store, record, prepared } = await open();
    await enqueue('a', 'b');
    const rows = await store.fetchPending(2);
    await store.markDispatched(['a']);
    expect(await store.markDispatched(['never'])).toEqual([]);
    expect(await store.markDispatched(['b', 'never'], rows[0]?.claimToken)).toEqual(['b']);
    expect(record.rest()).toEqual([]);
    expect(await prepared()).toMatchObject({ claims: 1 });
  });
});

describe('a connection that is lost during a claim', () => {
  it('fails it, and the next one runs on the pool', async () => {
    const { store, pid, record } = await open();
    await enqueue('a');
    const unlock = await lockTable();
    const claiming = store.fetchPending(1);
    await waiting(1);
    await fixture.query('select pg_terminate_backend($1)', [pid]);
    const lost = expect(claiming).rejects.toMatchObject({ code: '57P01' });
    expect(await record.next()).toEqual(['retrying']);
    await unlock();
    await lost;
    pool.taken();
    expect((await store.fetchPending(1)).map(({ id }) => id)).toEqual(['a']);
    expect(pool.taken()).toEqual([CLAIM]);
  });

  it('is replaced after an error too: a new connection may not have its cause', async () => {
    const { store, record } = await open({ connection: { options: '-c lock_timeout=10' } });
    await enqueue('a');
    const unlock = await lockTable();
    const claiming = store.fetchPending(1);
    // The release on the pool that follows it, for rows that may have been claimed, waits for the lock.
    expect(await record.next()).toEqual(['retrying']);
    expect(record.errors).toMatchObject([{ code: '55P03' }]);
    await Promise.all([expect(claiming).rejects.toMatchObject({ code: '55P03' }), unlock()]);
    expect((await store.fetchPending(1)).map(({ id }) => id)).toEqual(['a']);
  });

  it('silently is given up after five seconds', async () => {
    const proxy = await tcpProxy(fixture.url);
    const { store, record } = await open({ connection: { connectionString: proxy.url } });
    await enqueue('a');
    proxy.freeze();
    const claiming = store.fetchPending(1);
    const lost = expect(claiming).rejects.toThrow(`${CLAIM_MS} ms`);
    await clock.advance(CLAIM_MS - 1);
    expect(record.rest()).toEqual([]);
    await clock.advance(1);
    await lost;
    expect(await record.next()).toEqual(['retrying']);
    expect((await store.fetchPending(1)).map(({ id }) => id)).toEqual(['a']);
  });
});

describe('a connection is not used for claims', () => {
  async function expectPool(listener: ClaimingListener): Promise<void> {
    await enqueue('a');
    expect((await storeOn(listener).fetchPending(10)).map(({ id }) => id)).toEqual(['a']);
    expect(pool.taken()).toEqual([CLAIM]);
    await fixture.query(`select pg_notify('postcommit_outbox', '')`);
    expect(await listener.record.next(), 'it is listened on all the same').toEqual(['hint']);
  }

  async function roleFor(): Promise<string> {
    const role = `role_${process.pid}_${Math.random().toString(36).slice(2, 10)}`;
    await fixture.query(`create role ${role}`);
    onTestFinished(async () => {
      await fixture.query(`drop owned by ${role}`);
      await fixture.query(`drop role ${role}`);
    });
    await fixture.query(`grant all on all tables in schema public to ${role}`);
    await fixture.query(`grant all on all sequences in schema public to ${role}`);
    return role;
  }

  it('if its table of that name is another one', async () => {
    await fixture.query('create schema other');
    await fixture.query('create table other.outbox (like outbox including all)');
    onTestFinished(async () => {
      await fixture.query('drop schema other cascade');
    });
    await expectPool(await open({ connection: { options: '-c search_path=other' } }));
  });

  it('if it finds no such table', async () => {
    await expectPool(await open({ connection: { options: '-c search_path=pg_catalog' } }));
  });

  it('if it has another role', async () => {
    await expectPool(await open({ connection: { options: `-c role=${await roleFor()}` } }));
  });

  it('if policies hide rows, as they may depend on settings of the pool', async () => {
    const role = await roleFor();
    const options = `-c role=${role}`;
    const asRole = new pg.Pool({ connectionString: fixture.url, options });
    onTestFinished(() => asRole.end());
    await fixture.query('alter table outbox enable row level security');
    await fixture.query(`create policy all_of_it on outbox using (true)`);
    onTestFinished(async () => {
      await fixture.query('drop policy all_of_it on outbox');
      await fixture.query('alter table outbox disable row level security');
    });
    pool = countingPool(asRole);
    await expectPool(await open({ executor: pgExecutor(asRole), connection: { options } }));
  });
});

describe('the end of a subscription', () => {
  it('waits for the claim in progress', async () => {
    const { store, stop } = await open();
    await enqueue('a');
    const unlock = await lockTable();
    const claiming = store.fetchPending(1);
    await waiting(1);
    let hasEnded = false;
    const stopped = stop().then(() => {
      hasEnded = true;
    });
    await clock.advance(CLAIM_MS - 1);
    expect(hasEnded).toBe(false);
    await unlock();
    expect((await claiming).map(({ id }) => id)).toEqual(['a']);
    await stopped;
    await enqueue('b');
    expect((await store.fetchPending(1)).map(({ id }) => id)).toEqual(['b']);
    expect(pool.taken()).toEqual([CLAIM]);
  });

  it('leaves claims that begin from then on to the pool', async () => {
    const { store, stop } = await open();
    await enqueue('a');
    const stopped = stop();
    expect((await store.fetchPending(1)).map(({ id }) => id)).toEqual(['a']);
    expect(pool.taken()).toEqual([CLAIM]);
    await stopped;
  });

  it('but not forever', async () => {
    const proxy = await tcpProxy(fixture.url);
    const { store, stop } = await open({ connection: { connectionString: proxy.url } });
    proxy.freeze();
    const lost = expect(store.fetchPending(1)).rejects.toThrow(`${CLAIM_MS} ms`);
    const stopped = stop();
    await clock.advance(CLAIM_MS);
    await lost;
    await clock.advance(CLOSE_MS);
    await stopped;
  });
});
