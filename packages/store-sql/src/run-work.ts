import type { Clock } from '@postcommit/core';
import { BoundedWaits, CallLimits } from '@postcommit/core/internal';
import { KeyedLockTimeout, type SqlDialect } from './dialect.js';
import type { SqlExecutor, SqlRecord, SqlStatement, SqlWork } from './sql-statement.js';

/** Runs one statement, or steps in sequence, and returns the resulting records. */
export async function runWork(
  work: SqlWork,
  run: (statement: SqlStatement) => Promise<SqlRecord[]>,
): Promise<SqlRecord[]> {
  if (typeof work !== 'function') return run(work);
  const steps = work();
  let step = steps.next();
  while (!step.done) {
    const statement = step.value;
    step = await run(statement).then(
      (records) => steps.next(records),
      (error) => steps.throw(error),
    );
  }
  return [...step.value];
}

/** Does the same on a synchronous driver, so nothing else in this process runs in between. */
export function runWorkAtOnce(work: SqlWork, run: (statement: SqlStatement) => SqlRecord[]): SqlRecord[] {
  if (typeof work !== 'function') return run(work);
  const steps = work();
  let step = steps.next();
  while (!step.done) {
    let records: SqlRecord[];
    try {
      records = run(step.value);
    } catch (error) {
      step = steps.throw(error);
      continue;
    }
    step = steps.next(records);
  }
  return [...step.value];
}

/** How long the statements of a worker may take. They take milliseconds: after this, the connection is silent. */
export const STATEMENT_MS = 5_000;
/** Of a database that is slow but answers. */
const LONGEST_MS = 60_000;
/** The server ends a statement before the client gives it up: one that was given up must not go on. */
const SERVER_SHARE = 0.8;

/** What a limit is counted for: a claim may be slow while settles are quick. */
export type BoundedWork =
  | 'claim'
  | 'keyed claim'
  | 'release'
  | 'settle'
  | 'extend'
  | 'inspect'
  | 'wake-up'
  | 'heartbeat';

/** The work, when the limit that the server gets is known. */
export type BoundedWorkOf = (serverMs: number) => SqlWork;

/** Returns the limit that the server gets when the client waits for `limitMs`. */
export function serverLimitMs(limitMs: number): number {
  return Math.ceil(limitMs * SERVER_SHARE);
}

export interface BoundedStatementsOptions {
  readonly executor: SqlExecutor<never>;
  readonly dialect: Pick<SqlDialect, 'faultOf' | 'limit'>;
  readonly clock: Clock;
  /** A claim that takes longer is worth nothing. @default no limit */
  readonly claimTimeoutMs?: number;
}

/**
 * Runs the statements of a worker, each for a limited time: a connection may turn silent without being closed. Schema
 * changes, purges and what operators do have no limit.
 */
export class BoundedStatements {
  readonly #options: BoundedStatementsOptions;
  readonly #waits: BoundedWaits;
  readonly #limits: CallLimits;

  constructor(options: BoundedStatementsOptions) {
    const { clock, claimTimeoutMs = Number.POSITIVE_INFINITY } = options;
    this.#options = options;
    this.#waits = new BoundedWaits(clock, noAnswer);
    this.#limits = new CallLimits({
      firstMs: Math.min(STATEMENT_MS, claimTimeoutMs),
      longestMs: Math.min(LONGEST_MS, claimTimeoutMs),
      clock,
    });
  }

  /** Rejects when the work takes too long. Its connection is then closed, as far as the driver allows. */
  run(kind: BoundedWork, work: BoundedWorkOf): Promise<SqlRecord[]> {
    const { dialect } = this.#options;
    // Where a lock is held, a higher limit would only make its claimers wait longer.
    const isTooSlow = (error: unknown): boolean =>
      error instanceof NoAnswer ||
      (!(error instanceof KeyedLockTimeout) && dialect.faultOf(error) === 'too slow');
    return this.#limits.watch(kind, this.#runFor(this.#limits.limitMs(kind), kind, work), isTooSlow);
  }

  /** Rejects all work that is under way. No timer remains. */
  giveUp(reason: unknown): void {
    this.#waits.giveUp(reason);
  }

  async #runFor(limitMs: number, kind: BoundedWork, work: BoundedWorkOf): Promise<SqlRecord[]> {
    const { executor, dialect } = this.#options;
    const giveUp = new AbortController();
    const serverMs = serverLimitMs(limitMs);
    const limited = withLimit(work(serverMs), serverMs, dialect.limit);
    const running = executor(limited, undefined, { serverMs, signal: giveUp.signal });
    try {
      return await this.#waits.within(limitMs, kind, running);
    } catch (error) {
      giveUp.abort(error);
      throw error;
    }
  }
}

class NoAnswer extends Error {}

function noAnswer(kind: string, limitMs: number): Error {
  return new NoAnswer(`${kind}: the database has not answered for ${limitMs} ms`);
}

function withLimit(work: SqlWork, ms: number, limit: SqlDialect['limit']): SqlWork {
  if (!limit) return work;
  if (typeof work !== 'function') return limit(work, ms);
  return function* () {
    const steps = work();
    let step = steps.next();
    while (!step.done) {
      let records: readonly SqlRecord[];
      try {
        records = yield limit(step.value, ms);
      } catch (error) {
        step = steps.throw(error);
        continue;
      }
      step = steps.next(records);
    }
    return step.value;
  };
}
