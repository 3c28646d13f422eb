import type { OutboxEntry } from '@postcommit/core';
import { VirtualClock } from '@postcommit/store-memory';
import { SqlOutboxSchema } from '@postcommit/store-sql';
import type pg from 'pg';
import { beforeEach, describe, expect, it } from 'vitest';
import { PgOutboxStore, pgExecutor } from '../../store-pg/src/pg-outbox-store.js';
import { NOTIFY_WINDOW_MS } from '../src/store/notify-debounce.js';
import { countingPool } from './counting-pool.js';
import { type Listener, listenOn } from './listener.js';
import { beginOn, fillPlaces } from './notifying-transactions.js';
import { usePostgres } from './postgres-fixture.js';

const fixture = usePostgres();
const entry: OutboxEntry = { topic: 'order.paid', payload: { id: 1 } };
/** At a COMMIT, and for enqueues that were refused. */
const HINT = 'commit';
const TRAILING = '';

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

const begin = (): Promise<pg.PoolClient> => beginOn(fixture);
const fill = (): Promise<pg.PoolClient[]> => fillPlaces(fixture);

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

  it('of entries for much later notifies nobody; one that is due, or soon will be, is enough', async () => {
    const later = { ...entry, availableAt: new Date(Date.now() + 3_600_000) };
    await store.enqueue(later);
    await store.enqueue([later, later]);
    await endWindow();
    expect(await listener.taken()).toEqual([]);
    await store.enqueue([later, entry, later]);
    expect(await listener.taken()).toEqual([HINT]);
    await store.enqueue({ ...entry, availableAt: new Date(Date.now() + 1_000) });
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

describe('enqueues one after another', () => {
  it('notify each, in one statement each', async () => {
    const pool = countingPool(fixture.pool);
    store = new PgOutboxStore(pool, { clock });
    for (let count = 0; count < 100; count++) await store.enqueue(entry);
    await endWindow();
    expect(pool.taken()).toEqual(Array(100).fill('with inserted'));
    expect(await listener.taken()).toEqual(Array(100).fill(HINT));
  });

  it('notify once if they are in one transaction', async () => {
    const open = await fill();
    const [tx] = open;
    await tx?.query('commit');
    const again = await begin();
    for (let count = 0; count < 5; count++) await store.enqueueWith(again, entry);
    await again.query('commit');
    await endWindow();
    expect(await listener.taken()).toEqual([HINT, HINT]);
  });
});

describe('while four transactions, of any process, are about to notify', () => {
  it('an enqueue is stored without a notification, and announced a little later', async () => {
    await fill();
    const pool = countingPool(fixture.pool);
    store = new PgOutboxStore(pool, { clock });
    await store.enqueue(entry);
    expect(await listener.taken()).toEqual([]);
    expect((await store.count()).pending).toBe(1);
    await endWindow();
    expect(await listener.taken()).toEqual([TRAILING]);
  });

  it('a thousand enqueues try twice, and are announced once', async () => {
    await fill();
    const pool = countingPool(fixture.pool);
    store = new PgOutboxStore(pool, { clock });
    for (let count = 0; count < 1_000; count++) await store.enqueue(entry);
    const sent = pool.taken();
    expect(sent.filter((text) => text === 'with inserted')).toHaveLength(2);
    expect(sent.filter((text) => text === 'insert into')).toHaveLength(998);
    await endWindow();
    expect(pool.taken()).toEqual(['select pg_notify($1,']);
    expect(await listener.taken()).toEqual([TRAILING]);
  });

  it.each(['commit', 'rollback'])('the %s of one makes room for another', async (end) => {
    const [first] = await fill();
    await first?.query(end);
    await listener.taken();
    await store.enqueue(entry);
    expect(await listener.taken()).toEqual([HINT]);
  });

  it('those of another table do not count', async () => {
    await new SqlOutboxSchema(pgExecutor(fixture.pool), { table: 'other' }).ensure();
    const own = await listenOn(fixture, 'postcommit_other');
    await fill();
    await new PgOutboxStore(fixture.pool, { table: 'other', clock }).enqueue(entry);
    expect(await own.taken()).toEqual([HINT]);
  });

  it('one that commits after its announcement is not announced again: a poll finds it', async () => {
    await fill();
    const late = await begin();
    await store.enqueueWith(late, entry);
    await endWindow();
    expect(await listener.taken()).toEqual([TRAILING]);
    await late.query('commit');
    await endWindow();
    expect(await listener.taken()).toEqual([]);
  });

  it('an announcement that fails is dropped', async () => {
    await fill();
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
    isBroken = true;
    await endWindow();
    isBroken = false;
    expect(await listener.taken()).toEqual([]);
    expect((await store.count()).pending).toBe(1);
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
