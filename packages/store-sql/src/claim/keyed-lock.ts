import { type Clock, OutboxError } from '@postcommit/core';
import { type KeyedClaim, type KeyedLockStatements, KeyedLockTimeout } from '../dialect.js';
import type { SqlRecord, SqlStatement } from '../sql-statement.js';
import type { TableName } from '../table-name.js';

/** How long a claim waits for other keyed claims, and, once that was in vain, each time it tries again. */
const WAIT_MS = 1_000;
const RETRY_WAIT_MS = 50;
/** Between two tries. */
const FIRST_PAUSE_MS = 250;
const MAX_PAUSE_MS = 2_000;
/** A claimer of ours that stalls is cut off before that. */
export const STALLED_MS = 5_000;
/** After so long it is no accident: not where the same session is met at every try, nor where nobody knows whose it is. */
const ALWAYS_MET_MS = 30_000;

export interface KeyedLockOptions {
  readonly run: (claim: KeyedClaim) => Promise<SqlRecord[]>;
  readonly ask: (statement: SqlStatement) => Promise<SqlRecord[]>;
  readonly report: (error: OutboxError) => void;
  readonly table: TableName;
  readonly statements: KeyedLockStatements | undefined;
  readonly clock: Clock;
}

/**
 * Bounds the wait for the lock that keyed claims take turns by: on some databases anybody who can connect can hold it.
 * Meanwhile rows with a key wait, and others go on.
 */
export class KeyedLock {
  readonly #options: KeyedLockOptions;
  /** Undefined: the last claim got the lock. */
  #pauseMs: number | undefined;
  #retryAtMs = Number.NEGATIVE_INFINITY;
  /** Since when the lock is out of reach, and since when each holder was met at every try. */
  #heldUpSinceMs = 0;
  #metSinceMs = new Map<unknown, number>();
  #isReported = false;

  constructor(options: KeyedLockOptions) {
    this.#options = options;
  }

  /** Undefined: the lock is out of reach. */
  async claim(claim: Omit<KeyedClaim, 'lockWaitMs'>): Promise<SqlRecord[] | undefined> {
    if (this.#now() < this.#retryAtMs) return undefined;
    const lockWaitMs = this.#pauseMs === undefined ? WAIT_MS : RETRY_WAIT_MS;
    try {
      const records = await this.#options.run({ ...claim, lockWaitMs });
      this.#pauseMs = undefined;
      return records;
    } catch (error) {
      if (!(error instanceof KeyedLockTimeout)) throw error;
      await this.#heldUp(error);
      return undefined;
    }
  }

  async #heldUp(cause: KeyedLockTimeout): Promise<void> {
    if (this.#pauseMs === undefined) this.#beginEpisode();
    this.#pauseMs = Math.min(2 * (this.#pauseMs ?? FIRST_PAUSE_MS / 2), MAX_PAUSE_MS);
    this.#retryAtMs = this.#now() + this.#pauseMs;
    if (!this.#isReported) await this.#reportStuck(cause);
  }

  #beginEpisode(): void {
    this.#heldUpSinceMs = this.#now();
    this.#metSinceMs = new Map();
    this.#isReported = false;
  }

  async #reportStuck(cause: KeyedLockTimeout): Promise<void> {
    const { table, statements, report } = this.#options;
    const stuck = statements && (await this.#stuckHolders(statements));
    if (stuck ? stuck.length === 0 : this.#now() - this.#heldUpSinceMs < ALWAYS_MET_MS) return;
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

  /** Those that no short claim explains: claimers take turns, so one of them is met again and again by chance only. */
  async #stuckHolders({ holders }: KeyedLockStatements): Promise<SqlRecord[]> {
    const found = await this.#options.ask(holders(this.#options.table)).catch(() => []);
    const now = this.#now();
    const met = new Map(found.map(({ holder }) => [holder, this.#metSinceMs.get(holder) ?? now]));
    this.#metSinceMs = met;
    return found.filter((each) => {
      const metMs = now - (met.get(each.holder) ?? now);
      return metMs >= (isYoung(each) ? ALWAYS_MET_MS : STALLED_MS);
    });
  }

  #now(): number {
    return this.#options.clock.monotonicMs();
  }
}

/** Whether a holder's transaction is no older than one of ours may be. Unknown counts as no. */
export function isYoung({ held_ms }: SqlRecord): boolean {
  return held_ms !== null && Number(held_ms) < STALLED_MS;
}

function blockedError(table: TableName, details: readonly string[], cause: unknown): OutboxError {
  const who = details.length === 0 ? '' : `: ${details.join('. ')}`;
  return new OutboxError(
    'KEYED_CLAIMS_BLOCKED',
    `rows of ${table} with a key wait for the lock of keyed claims, rows without one go on${who}`,
    { cause },
  );
}
