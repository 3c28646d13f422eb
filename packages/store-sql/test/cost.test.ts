import type { OutboxEntry, Outcome } from '@postcommit/core';
import { VirtualClock } from '@postcommit/store-memory';
import { postgres, type SqlStatement } from '@postcommit/store-sql';
import type { PoolClient } from 'pg';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { PgOutboxStore, pgExecutor } from '../../store-pg/src/pg-outbox-store.js';
import { SqlOutboxPauses } from '../src/capabilities/sql-outbox-pauses.js';
import { SqlOutboxWorkers } from '../src/capabilities/sql-outbox-workers.js';
import { type CountingPool, countingPool } from './counting-pool.js';
import { usePostgres } from './postgres-fixture.js';
import { claimOf, statementsOf, TABLE } from './sql-session.js';

const fixture = usePostgres();
const COUNT = 1_000;
/** On a server with other work, a life is lived again until nothing came in between. */
const LIVES = 15;
/** Page splits and the fill of the last page move the figures by a few per cent. */
const MARGIN = 1.1;

let pool: CountingPool;
let store: PgOutboxStore;

beforeEach(async () => {
  await fixture.query('truncate outbox restart identity');
  pool = countingPool(fixture.pool);
  store = new PgOutboxStore(pool);
});

const entries = (count: number, options: Partial<OutboxEntry> = {}): OutboxEntry[] =>
  Array.from({ length: count }, (_, index) => ({ topic: 't', payload: { index }, ...options }));

async function claimAll(limit = COUNT): Promise<{ token: string; ids: string[] }> {
  const rows = await store.fetchPending(limit);
  return { token: rows[0]?.claimToken ?? '', ids: rows.map(({ id }) => id) };
}

describe('statements', () => {
  it.each([1, COUNT])('enqueueWith of %i entries is one', async (count) => {
    const client = await fixture.pool.connect();
    try {
      const sent: string[] = [];
      await client.query('begin');
      const counting = {
        query: (text: string, values: unknown[]) => {
          sent.push(text);
          return client.query<Record<string, unknown>>(text, values);
        },
      };
      await store.enqueueWith(counting, entries(count));
      await client.query('commit');
      expect(sent).toHaveLength(1);
      expect(pool.taken()).toEqual([]);
    } finally {
      client.release();
    }
    expect((await store.count()).pending).toBe(count);
  });

  it('an enqueue of a thousand entries is one', async () => {
    await store.enqueue(entries(COUNT));
    expect(pool.taken()).toHaveLength(1);
  });

  it.each([1, COUNT])('a claim of %i unkeyed rows is one, without a transaction', async (count) => {
    await store.enqueue(entries(count));
    pool.taken();
    expect((await claimAll()).ids).toHaveLength(count);
    expect(pool.taken()).toEqual(['with due']);
  });

  it('a claim after a full one is one if it is full too, and one more from the front if it is not', async () => {
    // Time stands still: no claim is due to begin at the front.
    store = new PgOutboxStore(pool, { clock: new VirtualClock() });
    await store.enqueue(entries(COUNT));
    pool.taken();
    const counts: number[] = [];
    for (const limit of [400, 400, 400, 400]) {
      await claimAll(limit);
      counts.push(pool.taken().length);
    }
    expect(counts).toEqual([1, 1, 2, 1]);
  });

  it('a claim on an empty table is one', async () => {
    expect(await store.fetchPending(COUNT)).toEqual([]);
    expect(pool.taken()).toEqual(['with due']);
  });

  it('a claim that leaves out no topic sends what any other sends', async () => {
    const send = async (...options: [] | [{ exceptTopics: string[] }]): Promise<unknown[]> => {
      const sent: unknown[] = [];
      const recording = {
        query: (query: { text: string; values: unknown[] }) => {
          // The first value is the token, which is always a new one.
          sent.push([query.text, query.values.slice(1)]);
          return fixture.pool.query<Record<string, unknown>>(query);
        },
        connect: () => fixture.pool.connect(),
      };
      await new PgOutboxStore(recording, { wakeup: false }).fetchPending(COUNT, ...options);
      return sent;
    };
    expect(await send({ exceptTopics: [] })).toEqual(await send());
    expect(JSON.stringify(await send())).not.toMatch(/topic (<>|not in)/);
  });

  it('a claim that leaves out topics is one, and one more for late commits if the batch is not full', async () => {
    store = new PgOutboxStore(pool, { clock: new VirtualClock() });
    await store.enqueue(entries(100, { topic: 'away' }));
    await store.enqueue(entries(COUNT));
    pool.taken();
    const counts: number[] = [];
    for (let claims = 0; claims < 4; claims++) {
      await store.fetchPending(400, { exceptTopics: ['away'] });
      counts.push(pool.taken().length);
    }
    expect(counts).toEqual([1, 1, 2, 2]);
    await store.fetchPending(400);
    expect(pool.taken(), 'nothing is left out any more').toEqual(['with due']);
  });

  it('a claim of keyed rows is one search, then begin, lock, claim, commit', async () => {
    await store.enqueue(entries(COUNT, { key: 'k' }));
    pool.taken();
    expect((await claimAll()).ids).toHaveLength(COUNT);
    const transaction = [
      'begin isolation',
      "select set_config('synchronous_commit',",
      'with due_window',
      'commit',
    ];
    expect(pool.taken()).toEqual(['with due', ...transaction]);
  });

  it('while keyed rows are due, every other claim begins with them', async () => {
    await store.enqueue(entries(2 * COUNT, { key: 'k' }));
    await claimAll(10).then(({ token, ids }) => store.markDispatched(ids, token));
    pool.taken();
    expect((await claimAll(10)).ids).toHaveLength(10);
    expect(pool.taken()).toHaveLength(4);
  });

  const OUTCOMES: Record<string, (id: string, index: number) => Outcome> = {
    'all dispatched': (id) => ({ id, kind: 'dispatched' }),
    'all failed': (id, index) => ({ id, kind: 'failed', error: `error ${index}`, delayMs: index }),
    'all dead': (id) => ({ id, kind: 'dead', error: 'x', reason: 'exhausted' }),
    'all released': (id) => ({ id, kind: 'released' }),
    mixed: (id, index) =>
      [
        { id, kind: 'dispatched' } as const,
        { id, kind: 'failed', error: `error ${index}`, delayMs: index } as const,
        { id, kind: 'dead', error: 'x', reason: 'permanent' } as const,
        { id, kind: 'released', delayMs: 5 } as const,
      ][index % 4] as Outcome,
  };

  it.each(Object.keys(OUTCOMES))('a settle of a thousand rows is one or two: %s', async (name) => {
    await store.enqueue(entries(COUNT));
    const { token, ids } = await claimAll();
    pool.taken();
    const outcomes = ids.map((id, index) => OUTCOMES[name]?.(id, index) as Outcome);
    expect(await store.settle(token, outcomes)).toHaveLength(COUNT);
    expect(pool.taken()).toHaveLength(name === 'mixed' ? 2 : 1);
  });

  it('a settle with fenced rows asks once more for receipts', async () => {
    await store.enqueue(entries(COUNT));
    const { token, ids } = await claimAll();
    await store.requeue(ids[0] ?? '');
    pool.taken();
    expect(await store.markDispatched(ids, token)).toHaveLength(COUNT - 1);
    expect(pool.taken()).toHaveLength(2);
  });

  it('a look ahead is one, without a transaction', async () => {
    await store.enqueue(entries(10, { availableAt: new Date(Date.now() + 60_000) }));
    pool.taken();
    expect((await store.lookAhead()).nextDueInMs).toBeGreaterThan(0);
    expect(pool.taken()).toHaveLength(1);
  });

  it('a look ahead that finds paused topics is one, too', async () => {
    const pauses = new SqlOutboxPauses(fixture.executor);
    await pauses.pause('a');
    expect((await store.lookAhead()).pausedTopics).toEqual(['a']);
    expect(pool.taken()).toHaveLength(1);
    await pauses.resume('a');
  });

  it('each call of a worker about itself and others is one, without a transaction; a takeover is two', async () => {
    const workers = new SqlOutboxWorkers(pgExecutor(pool));
    const report = { rowsInFlight: 0, isListening: true, outages: [] };
    for (const id of ['w1', 'w2'])
      await workers.register({ id, host: 'h', pid: 1, version: '1', takeoverMs: 1_000 }, report);
    expect(pool.taken()).toHaveLength(2);
    const [other] = (await workers.beat('w1', report)) ?? [];
    expect(pool.taken()).toEqual(['with beaten']);
    expect(await workers.declareLost('w2', other?.lastSeen ?? '')).toBe(true);
    expect(pool.taken()).toHaveLength(1);
    await store.enqueue(entries(10));
    await store.fetchPending(10, { token: 'w2.1' });
    pool.taken();
    expect(await workers.takeOver('w2')).toBe(10);
    expect(pool.taken()).toEqual(['with lost', 'with lost']);
    await workers.remove('w1');
    expect(pool.taken()).toHaveLength(1);
  });

  it('an extension of a thousand claims is one', async () => {
    await store.enqueue(entries(COUNT));
    const { token, ids } = await claimAll();
    pool.taken();
    expect(await store.extendClaim(token, ids)).toHaveLength(COUNT);
    expect(pool.taken()).toHaveLength(1);
  });
});

/** What one statement wrote, by the server's own account of this session. */
interface Written {
  readonly walBytes: number;
  readonly pageImages: number;
  readonly updated: number;
  readonly hot: number;
}

interface Life {
  readonly enqueue: Written;
  readonly claim: Written;
  readonly settle: Written;
}

describe('the writes of a message', () => {
  const figures: string[] = [];
  afterAll(() => {
    process.stdout.write(
      `\ncost per message (200-byte payload, batches of ${COUNT}):\n${figures.join('\n')}\n\n`,
    );
  });

  const payload = { text: 'x'.repeat(200 - '{"text": ""}'.length) };
  const newRows = (key?: (index: number) => string) =>
    Array.from({ length: COUNT }, (_, index) => ({
      id: `0190d7a0-0000-7000-8000-${String(index).padStart(12, '0')}`,
      topic: 'order.paid',
      payload: JSON.stringify(payload),
      ...(key && { key: key(index) }),
    }));
  const keyedClaim = (): SqlStatement => {
    const [, take] = statementsOf(
      postgres.claimKeyed(TABLE, claimOf({ limit: COUNT, perKey: COUNT, window: 2 * COUNT, token })),
    );
    if (!take) throw new Error('a keyed claim is a lock and a claim');
    return take;
  };
  const token = '0190d7a0-0000-7000-8000-000000000000';
  const ids = newRows().map(({ id }) => id);

  it('unkeyed: a claim is a HOT update, and a message is written three times', async () => {
    const claim = postgres.claimUnkeyed(TABLE, claimOf({ limit: COUNT, token }));
    const life = await measureLife(postgres.insert(TABLE, newRows()), claim);
    report('unkeyed', life);
    expect(life.claim).toMatchObject({ updated: COUNT, hot: COUNT });
    expect(life.settle).toMatchObject({ updated: COUNT });
    await expectWithinGates(life, 'unkeyed');
  });

  it('keyed: a claim writes the indexes, and a message is written three times', async () => {
    const life = await measureLife(
      postgres.insert(
        TABLE,
        newRows((index) => `customer-${index}`),
      ),
      keyedClaim(),
    );
    report('keyed', life);
    expect(life.claim).toMatchObject({ updated: COUNT, hot: 0 });
    expect(life.settle).toMatchObject({ updated: COUNT });
    await expectWithinGates(life, 'keyed');
  });

  it('with the harmful index of the specification, no claim is a HOT update', async () => {
    await fixture.query('create index harmful on outbox (claimed_at)');
    try {
      await written(postgres.insert(TABLE, newRows()));
      const claim = await written(postgres.claimUnkeyed(TABLE, claimOf({ limit: COUNT, token })));
      report('unkeyed, index on claimed_at', { claim });
      expect(claim).toMatchObject({ updated: COUNT, hot: 0 });
    } finally {
      await fixture.query('drop index harmful');
    }
  });

  it('a message leaves two dead tuples, minus those pruned on the way', async () => {
    await fixture.query('alter table outbox set (autovacuum_enabled = false)');
    const before = await deadTuples();
    await store.enqueue(entries(COUNT));
    const claimed = await claimAll();
    await store.markDispatched(claimed.ids, claimed.token);
    const left = (await deadTuples()) - before;
    figures.push(`  dead tuples: ${left / COUNT}`);
    expect(left).toBeLessThanOrEqual(2 * COUNT);
    await fixture.query('alter table outbox reset (autovacuum_enabled)');
  });

  /**
   * What is not ours is not counted, and the life is lived again: a checkpoint in between makes the server write whole
   * pages; a snapshot that autovacuum holds while it analyses keeps old versions in theirs, so that nine of ten rows have
   * to move, instead of one.
   */
  async function measureLife(insert: SqlStatement, claim: SqlStatement): Promise<Life> {
    for (let attempt = 0; attempt < LIVES; attempt++) {
      await fixture.query('truncate outbox restart identity');
      const [enqueue, claimed] = [await written(insert), await written(claim)];
      const before = await pagesOfRows();
      const settle = await written(postgres.settleDispatched(TABLE, token, ids));
      const life = { enqueue, claim: claimed, settle };
      const moved = (await pagesOfRows()).filter((page, place) => page !== before[place]);
      if (moved.length < COUNT / 2 && Object.values(life).every(({ pageImages }) => pageImages === 0))
        return life;
    }
    throw new Error(`${LIVES} times a checkpoint came in between, or rows had no room in their pages`);
  }

  async function pagesOfRows(): Promise<unknown[]> {
    const rows = await fixture.query('select (ctid::text::point)[0] as page from outbox order by id');
    return rows.map(({ page }) => page);
  }

  async function expectWithinGates(life: Life, kind: 'unkeyed' | 'keyed'): Promise<void> {
    const [record] = await fixture.query('show wal_level');
    const gates = GATES[record?.wal_level === 'logical' ? 'logical' : 'replica'][kind];
    for (const step of ['enqueue', 'claim', 'settle'] as const) {
      expect(life[step].walBytes / COUNT, step).toBeLessThan(gates[step] * MARGIN);
    }
  }

  function report(name: string, steps: Readonly<Record<string, Written>> | Life): void {
    const list = Object.entries<Written>({ ...steps }).map(
      ([step, { walBytes, updated, hot }]) =>
        `${step} ${Math.round(walBytes / COUNT)} WAL bytes${updated ? ` (${hot} of ${updated} updates HOT)` : ''}`,
    );
    figures.push(`  ${name}: ${list.join(', ')}`);
  }
});

/** WAL bytes per message as measured; `logical` writes the whole new row at every update. */
const GATES = {
  replica: {
    unkeyed: { enqueue: 531, claim: 188, settle: 327 },
    keyed: { enqueue: 648, claim: 601, settle: 357 },
  },
  logical: {
    unkeyed: { enqueue: 531, claim: 472, settle: 636 },
    keyed: { enqueue: 648, claim: 901, settle: 621 },
  },
};

async function deadTuples(): Promise<number> {
  // Each session reports its own statistics, so the one that did the work must be asked to.
  const client = await fixture.pool.connect();
  try {
    await client.query('select pg_stat_force_next_flush()');
  } finally {
    client.release();
  }
  const [record] = await fixture.query(
    `select n_dead_tup::int as dead from pg_stat_user_tables where relid = 'outbox'::regclass`,
  );
  return Number(record?.dead);
}

/** Runs a statement, commits it, and asks the server what it wrote. Other sessions' work does not count. */
async function written({ text, values }: SqlStatement): Promise<Written> {
  const client = await fixture.pool.connect();
  try {
    await client.query('begin');
    const before = await updatesOf(client);
    const plan = await client.query(`explain (analyze, wal, timing off, format json) ${text}`, [...values]);
    const after = await updatesOf(client);
    await client.query('commit');
    const top = plan.rows[0]['QUERY PLAN'][0].Plan;
    return {
      walBytes: top['WAL Bytes'],
      pageImages: top['WAL FPI'],
      updated: after.updated - before.updated,
      hot: after.hot - before.hot,
    };
  } finally {
    client.release();
  }
}

/** Also counts what the session did before and has not yet reported. */
async function updatesOf(client: PoolClient): Promise<{ updated: number; hot: number }> {
  const { rows } = await client.query<{ updated: number; hot: number }>(
    `select pg_stat_get_xact_tuples_updated('outbox'::regclass)::int as updated,
       pg_stat_get_xact_tuples_hot_updated('outbox'::regclass)::int as hot`,
  );
  return rows[0] ?? { updated: 0, hot: 0 };
}
