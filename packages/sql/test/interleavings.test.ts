import { postgres, TableName } from '@postcommit/sql';
import type { PoolClient } from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { PgOutboxStore } from '../../store-pg/src/pg-outbox-store.js';
import type { PgQuery } from '../../store-pg/src/prepared-statements.js';
import { shiftTimes, usePostgres } from './postgres-fixture.js';
import { claimedIds, claimOf, insertRows, newRow, SqlSession, TABLE, untilBlocked } from './sql-session.js';

const fixture = usePostgres();
const HOUR_MS = 3_600_000;

let sessions: SqlSession[] = [];
let alice: SqlSession;
let bob: SqlSession;
let operator: SqlSession;

beforeEach(async () => {
  await fixture.query('truncate outbox restart identity');
  alice = await connect();
  // Whoever waits for a lock here fails, unless the test says that it waits.
  bob = await connect('-c lock_timeout=2000');
  operator = await connect();
});

afterEach(async () => {
  await Promise.all(sessions.map((session) => session.end().catch(() => {})));
  sessions = [];
});

async function connect(settings = ''): Promise<SqlSession> {
  const session = await SqlSession.connect(fixture.url, settings);
  sessions.push(session);
  return session;
}

interface OpenClaim {
  readonly token: string;
  readonly ids: string[];
}

/** Lock and claim; the transaction stays open. */
async function claimUncommitted(session: SqlSession, limit = 10): Promise<OpenClaim> {
  const claim = claimOf({ limit });
  await session.begin();
  const [lock, take] = postgres.claimKeyed(TABLE, claim);
  if (!lock || !take) throw new Error('a keyed claim is a lock and a claim');
  await session.run(lock);
  return { token: claim.token, ids: claimedIds(await session.run(take)) };
}

async function claim(session: SqlSession, limit = 10): Promise<OpenClaim> {
  const claimed = await claimUncommitted(session, limit);
  await session.commit();
  return claimed;
}

/**
 * Lets the second claimer run against the first one's claim. Not yet committed: the second waits for the lock, and
 * goes on when the first commits. What it gets must be the same either way.
 */
async function claimAgainst(first: 'committed' | 'not yet committed', limit = 10): Promise<string[]> {
  if (first === 'committed') {
    await alice.commit();
    return (await claim(bob, limit)).ids;
  }
  const second = claim(bob, limit);
  await untilBlocked(fixture, bob);
  await alice.commit();
  return (await second).ids;
}

const enqueue = (...rows: (readonly [id: string, key?: string])[]): Promise<unknown> =>
  operator.run(insertRows(rows.map(([id, key]) => newRow(id, key))));

const dispatched = (session: SqlSession, { token }: OpenClaim, ids: readonly string[]): Promise<string[]> =>
  session.run(postgres.settleDispatched(TABLE, token, ids)).then(claimedIds);

const failed = (session: SqlSession, { token }: OpenClaim, id: string, delayMs: number): Promise<string[]> =>
  session
    .run(postgres.settleUnpublished(TABLE, token, [{ id, kind: 'failed', error: 'x', delayMs }]))
    .then(claimedIds);

const dead = (session: SqlSession, token: string | undefined, id: string): Promise<string[]> =>
  session
    .run(postgres.settleUnpublished(TABLE, token, [{ id, kind: 'dead', error: 'x', reason: 'permanent' }]))
    .then(claimedIds);

const released = (session: SqlSession, { token }: OpenClaim, ids: readonly string[]): Promise<string[]> =>
  session
    .run(
      postgres.settleUnpublished(
        TABLE,
        token,
        ids.map((id) => ({ id, kind: 'released' as const })),
      ),
    )
    .then(claimedIds);

async function ownersOf(key: string): Promise<number> {
  const [record] = await fixture.query(
    `select count(distinct claim_token)::int as owners from outbox
     where key = $1 and dispatched_at is null and dead_at is null and claimed_until > clock_timestamp()`,
    [key],
  );
  return Number(record?.owners);
}

describe.each(['committed', 'not yet committed'] as const)('the first claimer has %s', (first) => {
  it('a second claimer does not get the rest of the key', async () => {
    await enqueue(['m1', 'k'], ['m2', 'k'], ['m3', 'k'], ['other', 'l']);
    expect((await claimUncommitted(alice, 1)).ids).toEqual(['m1']);
    expect(await claimAgainst(first)).toEqual(['other']);
    expect(await ownersOf('k')).toBe(1);
  });

  it('a head that commits late waits for the younger row in flight', async () => {
    const producer = await connect();
    await producer.begin();
    await producer.run(insertRows([newRow('older', 'k')]));
    await enqueue(['younger', 'k']);
    const inFlight = await claimUncommitted(alice);
    expect(inFlight.ids).toEqual(['younger']);
    await producer.commit();
    expect(await claimAgainst(first)).toEqual([]);
    expect(await ownersOf('k')).toBe(1);
    await released(alice, inFlight, ['younger']);
    expect((await claim(bob)).ids).toEqual(['older', 'younger']);
  });

  it('a head that commits while the second claimer waits is not claimed beside the younger row', async () => {
    const producer = await connect();
    await producer.begin();
    await producer.run(insertRows([newRow('older', 'k')]));
    await enqueue(['younger', 'k']);
    await claimUncommitted(alice);
    if (first === 'committed') await alice.commit();
    const second = claim(bob);
    if (first === 'committed') expect((await second).ids).toEqual([]);
    else await untilBlocked(fixture, bob);
    await producer.commit();
    if (first === 'not yet committed') await alice.commit();
    expect((await second).ids).toEqual([]);
    expect((await claim(bob)).ids).toEqual([]);
    expect(await ownersOf('k')).toBe(1);
  });

  it('a dead row that is requeued while a follower is in flight waits for it', async () => {
    await enqueue(['m1', 'k'], ['m2', 'k']);
    await dead(operator, undefined, 'm1');
    const inFlight = await claimUncommitted(alice);
    expect(inFlight.ids).toEqual(['m2']);
    await operator.run(postgres.requeue(TABLE, 'm1'));
    expect(await claimAgainst(first)).toEqual([]);
    await dispatched(alice, inFlight, ['m2']);
    expect((await claim(bob)).ids).toEqual(['m1']);
  });

  it('a follower that commits while the head is claimed waits for it', async () => {
    await enqueue(['head', 'k']);
    const inFlight = await claimUncommitted(alice);
    await enqueue(['follower', 'k']);
    expect(await claimAgainst(first)).toEqual([]);
    await dispatched(alice, inFlight, ['head']);
    expect((await claim(bob)).ids).toEqual(['follower']);
  });

  it('a head that backs off holds back its follower, and is due later than that', async () => {
    await enqueue(['m1', 'k'], ['m2', 'k'], ['other', 'l']);
    const inFlight = await claim(alice, 1);
    await alice.begin();
    expect(await failed(alice, inFlight, 'm1', HOUR_MS)).toEqual(['m1']);
    if (first === 'committed') await alice.commit();
    expect((await claim(bob)).ids, 'no claim waits for a settle').toEqual(['other']);
    if (first === 'not yet committed') await alice.commit();
    expect((await claim(bob)).ids).toEqual([]);
    await shiftTimes(fixture, HOUR_MS + 1_000);
    await fixture.query(`delete from outbox where id = 'other'`);
    expect((await claim(bob, 2)).ids, 'the head first, although it fell due last').toEqual(['m1', 'm2']);
  });

  it('a head that dies lets its follower go, but not before it commits', async () => {
    await enqueue(['m1', 'k'], ['m2', 'k']);
    const inFlight = await claim(alice, 1);
    await alice.begin();
    expect(await dead(alice, inFlight.token, 'm1')).toEqual(['m1']);
    if (first === 'not yet committed') expect((await claim(bob)).ids).toEqual([]);
    await alice.commit();
    expect((await claim(bob)).ids).toEqual(['m2']);
  });

  it('an operator who requeues the pending head keeps its place, and its follower waits', async () => {
    await enqueue(['m1', 'k'], ['m2', 'k'], ['other', 'l']);
    await operator.begin();
    await operator.run(postgres.requeue(TABLE, 'm1'));
    if (first === 'committed') await operator.commit();
    const expected = first === 'committed' ? ['m1', 'm2', 'other'] : ['other'];
    expect((await claim(bob)).ids).toEqual(expected);
    if (first === 'not yet committed') {
      await operator.commit();
      expect((await claim(bob)).ids).toEqual(['m1', 'm2']);
    }
  });

  it('an operator who cancels the head: the follower waits for the commit', async () => {
    await enqueue(['m1', 'k'], ['m2', 'k']);
    await operator.begin();
    await operator.run(postgres.cancel(TABLE, 'm1'));
    if (first === 'committed') await operator.commit();
    expect((await claim(bob)).ids).toEqual(first === 'committed' ? ['m2'] : []);
  });

  it('an operator’s lock in the middle of a key cuts the batch there', async () => {
    await enqueue(['m1', 'k'], ['m2', 'k'], ['m3', 'k']);
    await operator.begin();
    await operator.run(postgres.requeue(TABLE, 'm2'));
    if (first === 'committed') await operator.commit();
    expect((await claim(bob)).ids).toEqual(first === 'committed' ? ['m1', 'm2', 'm3'] : ['m1']);
  });

  it('an expired owner that settles while its row is retaken is fenced', async () => {
    await enqueue(['m1', 'k']);
    const expired = await claim(alice);
    await shiftTimes(fixture, HOUR_MS + 1_000);
    const retaken = await claimUncommitted(bob);
    expect(retaken.ids).toEqual(['m1']);
    if (first === 'committed') {
      await bob.commit();
      expect(await dispatched(alice, expired, ['m1'])).toEqual([]);
    } else {
      const late = dispatched(alice, expired, ['m1']);
      await untilBlocked(fixture, alice);
      await bob.commit();
      expect(await late).toEqual([]);
    }
    expect(await dispatched(bob, retaken, ['m1'])).toEqual(['m1']);
  });

  it('a row that an expired owner settles is not retaken', async () => {
    await enqueue(['m1', 'k'], ['m2', 'k']);
    const expired = await claim(alice, 1);
    await shiftTimes(fixture, HOUR_MS + 1_000);
    await alice.begin();
    expect(await dispatched(alice, expired, ['m1'])).toEqual(['m1']);
    if (first === 'not yet committed') expect((await claim(bob)).ids).toEqual([]);
    await alice.commit();
    expect((await claim(bob)).ids).toEqual(['m2']);
  });

  it('an unkeyed row that an expired owner settles is not retaken, and nobody waits', async () => {
    await enqueue(['m1']);
    const old = claimOf();
    await alice.run(postgres.claimUnkeyed(TABLE, old));
    await shiftTimes(fixture, HOUR_MS + 1_000);
    await alice.begin();
    expect(claimedIds(await alice.run(postgres.settleDispatched(TABLE, old.token, ['m1'])))).toEqual(['m1']);
    if (first === 'committed') await alice.commit();
    expect(claimedIds(await bob.run(postgres.claimUnkeyed(TABLE, claimOf())))).toEqual([]);
  });

  it('an unkeyed claim passes a claimed one by', async () => {
    await enqueue(['m1'], ['m2']);
    await alice.begin();
    expect(claimedIds(await alice.run(postgres.claimUnkeyed(TABLE, claimOf({ limit: 1 }))))).toEqual(['m1']);
    if (first === 'committed') await alice.commit();
    expect(claimedIds(await bob.run(postgres.claimUnkeyed(TABLE, claimOf())))).toEqual(['m2']);
  });
});

describe('the lock of keyed claims', () => {
  it('never keeps an unkeyed claim waiting', async () => {
    await enqueue(['m1', 'k'], ['free']);
    await claimUncommitted(alice);
    const hasty = await connect('-c lock_timeout=1 -c statement_timeout=2000');
    expect(claimedIds(await hasty.run(postgres.claimUnkeyed(TABLE, claimOf())))).toEqual(['free']);
  });

  it('never keeps a producer, a settle or an operator waiting', async () => {
    await enqueue(['m1', 'k'], ['m2', 'l']);
    const held = await claim(operator, 1);
    await claimUncommitted(alice);
    const hasty = await connect('-c lock_timeout=1 -c statement_timeout=2000');
    await hasty.run(insertRows([newRow('m3', 'k')]));
    expect(await dispatched(hasty, held, held.ids)).toEqual(held.ids);
    await hasty.run(postgres.requeue(TABLE, held.ids[0] ?? ''));
  });

  it('a claimer that stalls after the lock is cut off by the server', async () => {
    await enqueue(['m1', 'k']);
    await alice.begin();
    const [lock] = postgres.claimKeyed(TABLE, claimOf());
    await alice.run(lock ?? { text: '', values: [] });
    const show = 'show idle_in_transaction_session_timeout';
    expect(await alice.sql(show)).toEqual([{ idle_in_transaction_session_timeout: '5s' }]);
    // What 5 s of silence do, without the 5 s: the server ends the session, and its lock with it.
    await alice.sql(`set local idle_in_transaction_session_timeout = 1`);
    expect((await claim(bob)).ids).toEqual(['m1']);
    await expect(alice.sql(show)).rejects.toThrow();
  });

  it('the time limit ends with the transaction', async () => {
    await claim(alice);
    const [record] = await alice.sql('show idle_in_transaction_session_timeout');
    expect(record).toEqual({ idle_in_transaction_session_timeout: '0' });
  });

  it('is the same for a table that is named with its schema and for one that is found by the search path', async () => {
    await enqueue(['m1', 'k']);
    await claimUncommitted(alice);
    const [lock] = postgres.claimKeyed(new TableName({ schema: 'public' }), claimOf());
    await bob.begin();
    await bob.sql('set local lock_timeout = 50');
    await expect(bob.run(lock ?? { text: '', values: [] })).rejects.toThrow(/lock timeout/);
  });
});

describe('an expired owner', () => {
  it('can’t revive its claim on the rest of a key whose head was retaken', async () => {
    await enqueue(['m1', 'k'], ['m2', 'k']);
    const expired = await claim(alice);
    expect(expired.ids).toEqual(['m1', 'm2']);
    await shiftTimes(fixture, HOUR_MS + 1_000);
    expect((await claim(bob)).ids).toEqual(['m1']);
    const extended = await alice.run(postgres.extendClaim(TABLE, expired.token, ['m1', 'm2'], HOUR_MS));
    expect(await ownersOf('k'), 'two owners of one key').toBe(1);
    expect(claimedIds(extended)).toEqual([]);
  });

  it('can’t revive its claim on a younger row when the late head was claimed', async () => {
    const producer = await connect();
    await producer.begin();
    await producer.run(insertRows([newRow('older', 'k')]));
    await enqueue(['younger', 'k']);
    const expired = await claim(alice);
    await producer.commit();
    await shiftTimes(fixture, HOUR_MS + 1_000);
    expect((await claim(bob)).ids).toEqual(['older']);
    await alice.run(postgres.extendClaim(TABLE, expired.token, ['younger'], HOUR_MS));
    expect(await ownersOf('k'), 'two owners of one key').toBe(1);
  });

  it('that extends while its row is retaken is fenced', async () => {
    await enqueue(['m1']);
    const expired = claimOf();
    await alice.run(postgres.claimUnkeyed(TABLE, expired));
    await shiftTimes(fixture, HOUR_MS + 1_000);
    await bob.begin();
    expect(claimedIds(await bob.run(postgres.claimUnkeyed(TABLE, claimOf())))).toEqual(['m1']);
    const extended = alice.run(postgres.extendClaim(TABLE, expired.token, ['m1'], HOUR_MS));
    await untilBlocked(fixture, alice);
    await bob.commit();
    expect(await extended).toEqual([]);
  });

  it('may still extend a row without a key that nobody took', async () => {
    await enqueue(['m1']);
    const expired = claimOf();
    await alice.run(postgres.claimUnkeyed(TABLE, expired));
    await shiftTimes(fixture, HOUR_MS + 1_000);
    const extended = await alice.run(postgres.extendClaim(TABLE, expired.token, ['m1'], HOUR_MS));
    expect(claimedIds(extended)).toEqual(['m1']);
  });
});

describe('a requeue that meets a settle', () => {
  // Fails with ROW_NOT_FOUND: each half of the statement sees the row in the state that it had for the other one.
  it('of a pending row that is dispatched meanwhile finds it all the same', async () => {
    await enqueue(['m1', 'k']);
    const inFlight = await claim(alice);
    await alice.begin();
    await dispatched(alice, inFlight, ['m1']);
    const requeued = new PgOutboxStore(fixture.pool).requeue('m1').then(
      () => 'requeued',
      (error: Error) => error.message,
    );
    await untilAnyoneBlocked();
    await alice.commit();
    expect(await requeued).toBe('requeued');
    expect((await claim(bob)).ids).toEqual(['m1']);
  });
});

describe('a session that is cut off between lock and claim', () => {
  it('reaches the caller as an error, and nothing is published from it', async () => {
    await enqueue(['m1', 'k']);
    const { pool } = cutOffAfterLock();
    await expect(new PgOutboxStore(pool).fetchPending(10)).rejects.toThrow();
    expect((await claim(bob)).ids).toEqual(['m1']);
  });

  // Fails: a pool takes its listener off while a client is out, and an `error` that nobody hears ends the process.
  it('does not take the process along', async () => {
    await enqueue(['m1', 'k']);
    const { pool, listeners } = cutOffAfterLock();
    await new PgOutboxStore(pool).fetchPending(10).catch(() => {});
    expect(listeners()).toBeGreaterThan(0);
  });
});

/** A pool whose first transaction loses its connection when it has the lock, and knows it before it goes on. */
function cutOffAfterLock(): {
  pool: ConstructorParameters<typeof PgOutboxStore>[0];
  listeners: () => number;
} {
  let listeners: number | undefined;
  const cutOff = async (client: PoolClient): Promise<void> => {
    listeners = client.listenerCount('error');
    client.on('error', () => {});
    const gone = new Promise((resolve) => client.once('end', resolve));
    const pid = (client as unknown as { processID: number }).processID;
    await fixture.query('select pg_terminate_backend($1)', [pid]);
    await gone;
  };
  const connect = async () => {
    const client = await fixture.pool.connect();
    return {
      on: (event: 'error', listener: (error: Error) => void) => client.on(event, listener),
      off: (event: 'error', listener: (error: Error) => void) => client.off(event, listener),
      release: (error?: Error | boolean) => client.release(error),
      query: async (query: string | PgQuery) => {
        const result = await client.query<Record<string, unknown>>(query);
        const text = typeof query === 'string' ? query : query.text;
        if (text.includes('pg_advisory_xact_lock') && listeners === undefined) await cutOff(client);
        return result;
      },
    };
  };
  return {
    pool: { query: (query) => fixture.pool.query<Record<string, unknown>>(query), connect },
    listeners: () => listeners ?? 0,
  };
}

/** For a session that the test does not hold in its hands. */
async function untilAnyoneBlocked(): Promise<void> {
  for (let poll = 0; poll < 2_000; poll++) {
    const [record] = await fixture.query(
      `select count(*)::int as waiting from pg_stat_activity
       where datname = current_database() and cardinality(pg_blocking_pids(pid)) > 0`,
    );
    if (Number(record?.waiting) > 0) return;
  }
  throw new Error('no session waited for a lock');
}
