import { setTimeout as pause } from 'node:timers/promises';
import { createOutbox, type OutboxPublisher } from '@postcommit/core';
import { inTransaction, pgStore } from '@postcommit/store-pg';
import pg from 'pg';
import type { BrokerTarget, Payload } from './target.js';
import { type Committed, judge, type Verdict } from './verdict.js';

export interface HitOptions {
  readonly rows: number;
  readonly hits: number;
  /** An empty database. */
  readonly databaseUrl: string;
}

export interface HitResult extends Verdict {
  readonly name: string;
  readonly fault: string;
  readonly rows: number;
  readonly hits: number;
  readonly seconds: number;
  /** Rows that are not dispatched in the end. */
  readonly unfinished: number;
  /** Tries that were counted, although only the broker was to blame. */
  readonly countedTries: number;
}

const PRODUCERS = 4;
const KEYS_EACH = 100;
const ROWS_EACH_TRANSACTION = 50;
const POLL_MS = 100;
/** Without any progress: then it never ends. */
const PATIENCE_MS = 120_000;

/** Publishes rows that several producers commit, while the broker is hit at even distances of progress. */
export async function runUnderHits(target: BrokerTarget, options: HitOptions): Promise<HitResult> {
  const startedAt = performance.now();
  const pool = new pg.Pool({ connectionString: options.databaseUrl, max: 20 });
  const outbox = openOutbox(pool, target.createPublisher());
  try {
    await outbox.migrate();
    await outbox.start();
    const produced = produceAll(pool, outbox, options.rows);
    produced.catch(() => {}); // awaited below
    const progress = new Progress(outbox);
    for (let hit = 1; hit <= options.hits; hit++) {
      await progress.until((options.rows * hit) / (options.hits + 1));
      await target.hit();
    }
    const committed = await produced;
    await progress.until(options.rows);
    await outbox.stop();
    const verdict = judge(committed, await target.received());
    const { name, fault } = target;
    const seconds = Math.round((performance.now() - startedAt) / 1_000);
    return {
      name,
      fault,
      rows: options.rows,
      hits: options.hits,
      seconds,
      ...verdict,
      ...(await leftovers(pool)),
    };
  } finally {
    await outbox.stop();
    await pool.end();
  }
}

type RunOutbox = ReturnType<typeof openOutbox>;

function openOutbox(pool: pg.Pool, publisher: OutboxPublisher) {
  return createOutbox({ store: pgStore(pool), publisher, batchSize: 200, logger: false });
}

/** How many rows have been recorded as published. */
class Progress {
  #dispatched = 0;

  constructor(outbox: RunOutbox) {
    outbox.on('batch', ({ dispatched }) => {
      this.#dispatched += dispatched;
    });
  }

  /** @throws if nothing moves for a long time. */
  async until(rows: number): Promise<void> {
    let before = this.#dispatched;
    let deadline = performance.now() + PATIENCE_MS;
    while (this.#dispatched < rows) {
      await pause(POLL_MS);
      if (this.#dispatched > before) deadline = performance.now() + PATIENCE_MS;
      before = this.#dispatched;
      if (performance.now() > deadline)
        throw new Error(`${before} rows are published, and no more for ${PATIENCE_MS} ms`);
    }
  }
}

/** Each producer has its own keys, and commits one transaction after another: that is what their order means. */
async function produceAll(pool: pg.Pool, outbox: RunOutbox, rows: number): Promise<Committed> {
  const committed = new Map<string, { key: string | undefined; number: number }>();
  const produce = async (producer: number): Promise<void> => {
    for (let first = producer; first < rows; first += PRODUCERS * ROWS_EACH_TRANSACTION) {
      const payloads = payloadsFrom(first, producer, rows);
      const entries = payloads.map((payload) => ({
        topic: 'order.paid',
        payload,
        ...(payload.key !== null && { key: payload.key }),
      }));
      const ids = await inTransaction(pool, (tx: pg.PoolClient) => outbox.enqueueWith(tx, entries));
      for (const [index, { key, number }] of payloads.entries())
        committed.set(ids[index] ?? '', { key: key ?? undefined, number });
    }
  };
  await Promise.all(Array.from({ length: PRODUCERS }, (_, producer) => produce(producer)));
  return committed;
}

function payloadsFrom(first: number, producer: number, rows: number): Payload[] {
  const numbers = Array.from({ length: ROWS_EACH_TRANSACTION }, (_, index) => first + index * PRODUCERS);
  return numbers
    .filter((number) => number < rows)
    .map((number) => ({ number, key: keyOf(producer, Math.floor(number / PRODUCERS)) }));
}

/** One row in four has no key. */
function keyOf(producer: number, place: number): string | null {
  return place % 4 === 3 ? null : `${producer}-${place % KEYS_EACH}`;
}

async function leftovers(pool: pg.Pool): Promise<Pick<HitResult, 'unfinished' | 'countedTries'>> {
  const { rows } = await pool.query<{ unfinished: number; tries: number }>(
    `select (count(*) filter (where dispatched_at is null))::int as unfinished,
            coalesce(sum(attempts), 0)::int as tries
     from outbox`,
  );
  const [{ unfinished, tries } = { unfinished: Number.NaN, tries: Number.NaN }] = rows;
  return { unfinished, countedTries: tries };
}
