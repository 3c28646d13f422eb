import { postgres, TableName } from '@postcommit/store-sql';
import type { PoolClient } from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { PgQuery } from '../../store-pg/src/pg-client-like.js';
import { PgOutboxStore } from '../../store-pg/src/pg-outbox-store.js';
import { usePostgres } from './postgres-fixture.js';
import { claimedIds, claimOf, newRow, type SqlSession, TABLE, WorkInSteps } from './sql-session.js';

const fixture = usePostgres();
let alice: SqlSession;
let bob: SqlSession;

beforeEach(async () => {
  await fixture.clear();
  alice = await fixture.connect();
  bob = await fixture.connect({ lockTimeoutMs: 2_000 });
});

afterEach(async () => {
  await Promise.all([alice, bob].map((session) => session.end().catch(() => {})));
});

const enqueue = (id: string, key: string): Promise<unknown> =>
  fixture.executor(postgres.insert(TABLE, [newRow(id, key)]));

const claim = async (session: SqlSession): Promise<string[]> =>
  claimedIds(await session.run(postgres.claimKeyed(TABLE, claimOf())));

/** The first step of a keyed claim; the transaction stays open. */
async function lock(session: SqlSession, table = TABLE, lockWaitMs = 60_000): Promise<void> {
  await session.begin();
  await new WorkInSteps(session, postgres.claimKeyed(table, claimOf({ lockWaitMs }))).next();
}

describe('a window without a free key', () => {
  it('ends at its last row, by number', async () => {
    await alice.sql("select setval(pg_get_serial_sequence('outbox', 'seq'), 94)");
    const keys = ['a', 'b', 'c'];
    const availableAt = new Date(Date.now() + 3_600_000);
    const heads = keys.map((key) => ({ ...newRow(`head-${key}`, key), availableAt }));
    const followers = keys.map((key) => newRow(`follower-${key}`, key));
    await fixture.executor(postgres.insert(TABLE, [...heads, ...followers, newRow('free', 'd')]));
    const [seen] = await alice.run(postgres.claimKeyed(TABLE, claimOf({ window: 3 })));
    // As text, '99' comes after '100'.
    expect(seen).toMatchObject({ id: null, window_rows: 3, last_seq: '100' });
    const after = { availableAt: String(seen?.last_available_at), seq: String(seen?.last_seq) };
    const next = await alice.run(postgres.claimKeyed(TABLE, claimOf({ window: 3, after })));
    expect(next).toMatchObject([{ id: 'free', window_rows: 1 }]);
  });
});

describe('the lock of keyed claims', () => {
  it('a claimer that stalls after the lock is cut off by the server', async () => {
    await enqueue('m1', 'k');
    await lock(alice);
    const show = 'show idle_in_transaction_session_timeout';
    expect(await alice.sql(show)).toEqual([{ idle_in_transaction_session_timeout: '5s' }]);
    // What 5 s of silence do, without the 5 s: the server ends the session, and its lock with it.
    await alice.sql(`set local idle_in_transaction_session_timeout = 1`);
    expect(await claim(bob)).toEqual(['m1']);
    await expect(alice.sql(show)).rejects.toThrow();
  });

  it('the time limit ends with the transaction', async () => {
    await claim(alice);
    const [record] = await alice.sql('show idle_in_transaction_session_timeout');
    expect(record).toEqual({ idle_in_transaction_session_timeout: '0' });
  });

  it('is the same for a table named with its schema and one found by the search path', async () => {
    await enqueue('m1', 'k');
    await lock(alice);
    await expect(lock(bob, new TableName({ schema: 'public' }), 50)).rejects.toThrow(/lock timeout/);
  });
});

describe('a session that is cut off between lock and claim', () => {
  it('reaches the caller as an error, and none of its rows are published', async () => {
    await enqueue('m1', 'k');
    const { pool } = cutOffAfterLock();
    await expect(new PgOutboxStore(pool).fetchPending(10)).rejects.toThrow();
    expect(await claim(bob)).toEqual(['m1']);
  });

  // Fails: a pool takes its listener off while a client is out, and an `error` that nobody hears ends the process.
  it('does not crash the process', async () => {
    await enqueue('m1', 'k');
    const { pool, listeners } = cutOffAfterLock();
    await new PgOutboxStore(pool).fetchPending(10).catch(() => {});
    expect(listeners()).toBeGreaterThan(0);
  });
});

/** A pool whose first transaction loses its connection once it has the lock, and notices before it continues. */
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
