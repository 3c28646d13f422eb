import type { OutboxEntry } from '@postcommit/core';
import { VirtualClock } from '@postcommit/store-memory';
import { SqlOutboxSchema } from '@postcommit/store-sql';
import type pg from 'pg';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { PgOutboxStore, pgExecutor } from '../../store-pg/src/pg-outbox-store.js';
import { NOTIFY_WINDOW_MS } from '../src/store/notify-debounce.js';
import { countingPool } from './counting-pool.js';
import { type Listener, listenOn } from './listener.js';
import { usePostgres } from './postgres-fixture.js';

const fixture = usePostgres();
const entry: OutboxEntry = { topic: 'order.paid', payload: { id: 1 } };
const HINT = '';

let clock: VirtualClock;
let store: PgOutboxStore;
let listener: Listener;

beforeEach(async () => {
  await fixture.query('truncate outbox');
  clock = new VirtualClock();
  store = new PgOutboxStore(fixture.pool, { clock });
  listener = await listenOn(fixture);
});

/** Ends the window; what was owed has been sent when this resolves. */
async function endWindow(): Promise<void> {
  await clock.advance(NOTIFY_WINDOW_MS);
  await store.flushWakeup();
}

async function begin(): Promise<pg.PoolClient> {
  const client = await fixture.pool.connect();
  onTestFinished(() => client.release());
  await client.query('begin');
  return client;
}

describe('an enqueue', () => {
  it('notifies when its transaction commits, not before', async () => {
    const tx = await begin();
    await store.enqueueWith(tx, entry);
    expect(await listener.taken()).toEqual([]);
    await tx.query('commit');
    expect(await listener.taken()).toEqual([HINT]);
  });

  it.each([
    ['one entry', entry],
    ['a list', [entry, entry, entry]],
    ['a list with options', [entry, { ...entry, key: 'k', headers: { a: 'b' } }]],
  ])('of %s is one statement, and stores the same as without it', async (_name, entries) => {
    const pool = countingPool(fixture.pool);
    const counted = new PgOutboxStore(pool, { clock });
    const ids = await counted.enqueue(entries);
    expect(pool.taken()).toEqual(['with inserted']);
    expect(await listener.taken()).toEqual([HINT]);
    const rows = await counted.fetchPending(10);
    expect(rows.map(({ id }) => id)).toEqual(ids);
    expect(rows.at(-1)).toMatchObject(Array.isArray(entries) ? (entries.at(-1) ?? {}) : entries);
  });

  it('of a duplicate id is rejected as usual, and notifies nobody', async () => {
    await new PgOutboxStore(fixture.pool, { wakeup: false }).enqueue({ ...entry, id: 'm1' });
    await expect(store.enqueue({ ...entry, id: 'm1' })).rejects.toMatchObject({ code: 'DUPLICATE_ID' });
    expect(await listener.taken()).toEqual([]);
  });

  it('with wakeup: false notifies nobody', async () => {
    const quiet = new PgOutboxStore(fixture.pool, { clock, wakeup: false });
    for (let count = 0; count < 3; count++) await quiet.enqueue(entry);
    await clock.advance(NOTIFY_WINDOW_MS);
    await quiet.flushWakeup();
    expect(await listener.taken()).toEqual([]);
    expect((await quiet.count()).pending).toBe(3);
  });

  it('of entries that are not due notifies nobody; one due entry is enough', async () => {
    const later = { ...entry, availableAt: new Date(Date.now() + 3_600_000) };
    await store.enqueue(later);
    await store.enqueue([later, later]);
    await endWindow();
    expect(await listener.taken()).toEqual([]);
    await store.enqueue([later, entry, later]);
    expect(await listener.taken()).toEqual([HINT]);
  });

  it('is a hint without NOTIFY if a worker in this process listens', async () => {
    let hints = 0;
    const stop = store.onEnqueue(() => {
      hints += 1;
    });
    for (let count = 0; count < 3; count++) await store.enqueue(entry);
    await endWindow();
    expect(hints).toBe(3);
    expect(await listener.taken()).toEqual([]);
    stop();
    await store.enqueue(entry);
    expect(await listener.taken()).toEqual([HINT]);
  });
});

describe('a burst', () => {
  it('of a thousand enqueues notifies in one statement, and once more at the end', async () => {
    const sent: string[] = [];
    const pool = countingPool(fixture.pool);
    store = new PgOutboxStore(pool, { clock });
    for (let count = 0; count < 1_000; count++) await store.enqueue(entry);
    sent.push(...pool.taken());
    expect(sent.filter((text) => text === 'with inserted')).toHaveLength(1);
    expect(sent.filter((text) => text === 'insert into')).toHaveLength(999);
    await endWindow();
    expect(pool.taken()).toEqual(['select pg_notify($1,']);
    await endWindow();
    expect(pool.taken()).toEqual([]);
    expect(await listener.taken()).toEqual([HINT, HINT]);
  });

  it('whose first enqueue rolls back is announced by the trailing notification', async () => {
    const first = await begin();
    await store.enqueueWith(first, entry);
    await store.enqueue(entry);
    await first.query('rollback');
    expect(await listener.taken()).toEqual([]);
    await endWindow();
    expect(await listener.taken()).toEqual([HINT]);
  });

  it('whose first enqueue commits last is announced before that, and then again', async () => {
    const first = await begin();
    await store.enqueueWith(first, entry);
    await store.enqueue(entry);
    await endWindow();
    expect(await listener.taken()).toEqual([HINT]);
    await first.query('commit');
    expect(await listener.taken()).toEqual([HINT]);
  });

  it('with a commit after the window is announced at its end, not again: a poll finds that row', async () => {
    await store.enqueue(entry);
    const late = await begin();
    await store.enqueueWith(late, entry);
    expect(await listener.taken()).toEqual([HINT]);
    await endWindow();
    expect(await listener.taken()).toEqual([HINT]);
    await late.query('commit');
    await endWindow();
    expect(await listener.taken()).toEqual([]);
  });

  it('is announced even if the savepoint of its first enqueue is rolled back', async () => {
    const tx = await begin();
    await tx.query('savepoint here');
    await store.enqueueWith(tx, entry);
    await tx.query('rollback to savepoint here');
    await store.enqueueWith(tx, entry);
    await tx.query('commit');
    expect(await listener.taken()).toEqual([]);
    await endWindow();
    expect(await listener.taken()).toEqual([HINT]);
  });

  it('survives a failing trailing notification', async () => {
    let isBroken = false;
    const { pool } = fixture;
    store = new PgOutboxStore(
      {
        query: (query) => pool.query(query),
        connect: () => (isBroken ? Promise.reject(new Error('gone')) : pool.connect()),
      },
      { clock },
    );
    await store.enqueue(entry);
    await store.enqueue(entry);
    isBroken = true;
    await endWindow();
    isBroken = false;
    expect(await listener.taken()).toEqual([HINT]);
    expect((await store.count()).pending).toBe(2);
  });
});

describe('the channel', () => {
  const longest = `A_${'x'.repeat(38)}`;

  it.each(['Orders', 'order', '_', longest])('of the table %s', async (table) => {
    await new SqlOutboxSchema(pgExecutor(fixture.pool), { table }).ensure();
    const named = new PgOutboxStore(fixture.pool, { table, schema: 'public', clock });
    const own = await listenOn(fixture, `postcommit_${table}`);
    await named.enqueue(entry);
    await named.enqueue(entry);
    await named.flushWakeup();
    expect(await own.taken()).toEqual([HINT, HINT]);
    expect(await listener.taken(), 'the listener of another table').toEqual([]);
  });
});
