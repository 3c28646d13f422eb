import { endsWithin, systemClock } from '@postcommit/core/internal';
import {
  limitedPgQuery,
  postgres,
  runWork,
  type SqlRecord,
  type SqlStatement,
  type SqlWork,
  type StatementBound,
} from '@postcommit/store-sql';
import type { PgPoolClientLike, PgPoolLike, PgQuery } from './pg-client-like.js';

type Steps = Extract<SqlWork, (...args: never) => unknown>;

export function toQuery({ text, values }: SqlStatement): PgQuery {
  return { text, values: [...values] };
}

/** Runs a transaction on a client of the pool. */
export async function inTransaction(pool: PgPoolLike, work: Steps): Promise<SqlRecord[]> {
  return transact(await PooledClient.checkOut(pool), work);
}

/** Runs work on a client of the pool, which is discarded when nobody waits for the work any more. */
export async function runBounded(
  pool: PgPoolLike,
  work: SqlWork,
  { serverMs, signal }: StatementBound,
): Promise<SqlRecord[]> {
  const pooled = await PooledClient.checkOut(pool);
  if (signal.aborted) {
    pooled.release();
    throw signal.reason;
  }
  const giveUp = (): void => {
    pooled.discard();
    replaceSilentClients(pool);
  };
  signal.addEventListener('abort', giveUp);
  try {
    return await (typeof work === 'function' ? transact(pooled, work) : query(pooled, work, serverMs));
  } finally {
    signal.removeEventListener('abort', giveUp);
  }
}

async function transact(pooled: PooledClient, work: Steps): Promise<SqlRecord[]> {
  const { client } = pooled;
  try {
    for (const text of postgres.begin) await client.query(text);
    const records = await runWork(work, async (statement) => (await client.query(toQuery(statement))).rows);
    await client.query('commit');
    pooled.release();
    return records;
  } catch (error) {
    await pooled.rollBack();
    throw error;
  }
}

/** Like `query` of a pool, closes the connection of a query that fails. */
async function query(pooled: PooledClient, statement: SqlStatement, serverMs: number): Promise<SqlRecord[]> {
  const { client } = pooled;
  try {
    const limited = limitedPgQuery(client, statement, serverMs);
    const records = await (limited ?? client.query(toQuery(statement)).then(({ rows }) => rows));
    pooled.release();
    return records;
  } catch (error) {
    pooled.discard();
    throw error;
  }
}

/** A client of the pool, from check-out to release. */
export class PooledClient {
  readonly #client: PgPoolClientLike;
  #isReleased = false;

  /**
   * A pool does not handle the errors of a checked-out client, and an unhandled `error` event crashes the process. They
   * can be ignored, because the next query fails too. Uses a callback, not the promise: the server may close the
   * connection in the packet that makes it ready, and a promise resolves only after the whole packet was processed.
   */
  static checkOut(pool: PgPoolLike): Promise<PooledClient> {
    return new Promise((resolve, reject) => {
      const take = (client: PgPoolClientLike): void => resolve(new PooledClient(client));
      const promised: Promise<PgPoolClientLike> | undefined = pool.connect((error, client) =>
        client ? take(client) : reject(error),
      );
      promised?.then(take, reject);
    });
  }

  private constructor(client: PgPoolClientLike) {
    this.#client = client;
    client.on('error', ignore);
  }

  get client(): PgPoolClientLike {
    return this.#client;
  }

  release(): void {
    this.#release(false);
  }

  /** Closes the connection, with any query that still runs on it. */
  discard(): void {
    this.#release(true);
  }

  /** Closes a client that fails to roll back: the next caller would continue its transaction. */
  async rollBack(): Promise<void> {
    if (this.#isReleased) return;
    try {
      await this.#client.query('rollback');
      this.release();
    } catch {
      this.discard();
    }
  }

  #release(isBroken: boolean): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    // The error of a query that is cut off arrives after its client was discarded.
    if (!isBroken) this.#client.off('error', ignore);
    this.#client.release(isBroken);
  }
}

function ignore(): void {}

/** How long an idle connection has to answer. */
const ANSWER_MS = 1_000;

/** Pools whose idle connections are being asked. */
const underWay = new WeakSet<PgPoolLike>();

/**
 * A connection seldom turns silent alone, and each further one would cost the limit of a statement. So all that are idle
 * now are asked at once, and those that don't answer are closed. Never rejects.
 */
export function replaceSilentClients(pool: PgPoolLike): void {
  if (underWay.has(pool)) return;
  underWay.add(pool);
  const asked = Array.from({ length: pool.idleCount ?? 0 }, () => ask(pool));
  void Promise.allSettled(asked).then(() => underWay.delete(pool));
}

async function ask(pool: PgPoolLike): Promise<void> {
  const pooled = await PooledClient.checkOut(pool);
  const answers = await endsWithin(ANSWER_MS, pooled.client.query('select 1'), systemClock).catch(
    () => false,
  );
  if (answers) pooled.release();
  else pooled.discard();
}
