import { type Clock, OutboxError } from '@postcommit/core';
import { type KeyedLockStatements, KeyedLockTimeout } from '../dialect.js';
import type { SqlRecord, SqlStatement } from '../sql-statement.js';
import type { TableName } from '../table-name.js';

/** How long a claim waits for the lock, and how long each retry waits once that has failed. */
const WAIT_MS = 1_000;
const RETRY_WAIT_MS = 50;
/** Between two retries. */
const FIRST_PAUSE_MS = 250;
const MAX_PAUSE_MS = 2_000;
/** By then, the server has cut off one of our own claimers if it stalled. */
export const STALLED_MS = 5_000;
/** After this long it is not a coincidence that every retry meets the same session, or one that can't be identified. */
const PERSISTENT_MS = 30_000;

export interface KeyedLockOptions {
  readonly ask: (statement: SqlStatement) => Promise<SqlRecord[]>;
  readonly report: (error: OutboxError) => void;
  readonly table: TableName;
  readonly statements: KeyedLockStatements | undefined;
  readonly clock: Clock;
}

/**
 * Bounds the wait for the lock that serializes keyed claims: on some databases, anyone who can connect can hold it.
 * While it is held, rows with a key wait and rows without one continue.
 */
export class KeyedLock {
  readonly #options: KeyedLockOptions;
  /** Undefined when the last claim got the lock. */
  #pauseMs: number | undefined;
  #retryAtMs = Number.NEGATIVE_INFINITY;
  /** Since when the lock has been unavailable, and since when each holder has been seen at every retry. */
  #blockedSinceMs = 0;
  #seenSinceMs = new Map<unknown, number>();
  #isReported = false;

  constructor(options: KeyedLockOptions) {
    this.#options = options;
  }

  /** Runs a claim that waits at most this long for the lock. Returns undefined when the lock is unavailable. */
  async within<T>(claim: (lockWaitMs: number) => Promise<T>): Promise<T | undefined> {
    if (this.#now() < this.#retryAtMs) return undefined;
    try {
      const answer = await claim(this.#pauseMs === undefined ? WAIT_MS : RETRY_WAIT_MS);
      this.#pauseMs = undefined;
      return answer;
    } catch (error) {
      if (!(error instanceof KeyedLockTimeout)) throw error;
      await this.#onTimeout(error);
      return undefined;
    }
  }

  async #onTimeout(cause: KeyedLockTimeout): Promise<void> {
    if (this.#pauseMs === undefined) this.#beginEpisode();
    this.#pauseMs = Math.min(2 * (this.#pauseMs ?? FIRST_PAUSE_MS / 2), MAX_PAUSE_MS);
    this.#retryAtMs = this.#now() + this.#pauseMs;
    if (!this.#isReported) await this.#reportStuck(cause);
  }

  #beginEpisode(): void {
    this.#blockedSinceMs = this.#now();
    this.#seenSinceMs = new Map();
    this.#isReported = false;
  }

  async #reportStuck(cause: KeyedLockTimeout): Promise<void> {
    const { table, statements, report } = this.#options;
    const stuck = statements && (await this.#stuckHolders(statements));
    if (stuck ? stuck.length === 0 : this.#now() - this.#blockedSinceMs < PERSISTENT_MS) return;
    this.#isReported = true;
    const details = stuck?.map((holder) => statements?.problemOf(holder, table)) ?? [];
    report(
      blockedError(
        table,
        details.map((each) => `${each?.problem}; to end it: ${each?.fix}`),
        cause,
      ),
    );
  }

  /** Holders that short claims don't explain: claimers take turns, so seeing the same one every time is unlikely. */
  async #stuckHolders({ holders }: KeyedLockStatements): Promise<SqlRecord[]> {
    const found = await this.#options.ask(holders(this.#options.table)).catch(() => []);
    const now = this.#now();
    const seen = new Map(found.map(({ holder }) => [holder, this.#seenSinceMs.get(holder) ?? now]));
    this.#seenSinceMs = seen;
    return found.filter((each) => {
      const seenMs = now - (seen.get(each.holder) ?? now);
      return seenMs >= (isYoung(each) ? PERSISTENT_MS : STALLED_MS);
    });
  }

  #now(): number {
    return this.#options.clock.monotonicMs();
  }
}

/** Whether a holder's transaction is young enough to be one of ours. False if its age is unknown. */
export function isYoung({ held_ms }: SqlRecord): boolean {
  return held_ms !== null && Number(held_ms) < STALLED_MS;
}

function blockedError(table: TableName, details: readonly string[], cause: unknown): OutboxError {
  const who = details.length === 0 ? '' : `: ${details.join('. ')}`;
  return new OutboxError(
    'KEYED_CLAIMS_BLOCKED',
    `rows of ${table.sql} with a key wait for the lock of keyed claims, rows without one continue${who}`,
    { cause },
  );
}
