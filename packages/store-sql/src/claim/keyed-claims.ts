import type { Claim, DuePlace, KeyedClaim } from '../dialect.js';
import type { SqlRecord } from '../sql-statement.js';

/** Due rows examined per row wanted, and the minimum per claim. */
const WINDOW_FACTOR = 2;
const MIN_WINDOW = 500;
/** Maximum windows examined in one claim while every key found is blocked. */
const MAX_WINDOWS = 8;
/** Turns to skip after a productive, a poor and a fruitless keyed claim, while rows without a key fill the batches. */
const SKIP = 1;
const SKIP_AFTER_POOR = 3;
const MAX_SKIP_AFTER_NONE = 16;
/** A claim that fills less than this fraction of its limit is poor, e.g. when there is one hot key. */
const POOR = 0.25;
/** The fraction of a batch that one key may take while rows without a key wait. */
const KEY_SHARE = 0.1;

type Search = Omit<KeyedClaim, 'lockWaitMs'>;

/**
 * Decides when and where to search for rows with a key. A window full of blocked keys must not hide the rows behind it:
 * each search continues where the last one ended, and starts over at the end.
 */
export class KeyedClaims {
  readonly #run: (claim: Search) => Promise<SqlRecord[] | undefined>;
  #after: DuePlace | undefined;
  /** Turns left to skip before the next keyed claim. */
  #turnsToSkip = 0;
  /** Turns to skip after each keyed claim. */
  #skip = SKIP;
  /** Set from the last claim of unkeyed rows. If no row has a key, no keyed claim ever runs. */
  areDue = false;
  shareWithUnkeyed = false;

  /** `run` returns undefined when it can't get the lock of keyed claims. */
  constructor(run: (claim: Search) => Promise<SqlRecord[] | undefined>) {
    this.#run = run;
  }

  /** Uses up a turn. True every other time; less often while rows without a key fill the batches and few keys are free. */
  takeTurn(): boolean {
    if (!this.areDue) return false;
    if (this.#turnsToSkip > 0) {
      this.#turnsToSkip -= 1;
      return false;
    }
    this.#turnsToSkip = this.#skip;
    return true;
  }

  async claim(claim: Claim): Promise<SqlRecord[]> {
    const limit = this.shareWithUnkeyed ? Math.ceil(claim.limit / 2) : claim.limit;
    const perKey = this.shareWithUnkeyed ? Math.ceil(claim.limit * KEY_SHARE) : claim.limit;
    const window = Math.max(MIN_WINDOW, limit * WINDOW_FACTOR);
    const claimed = await this.#search(
      { ...claim, limit, perKey, window },
      this.shareWithUnkeyed ? 1 : MAX_WINDOWS,
    );
    this.#skip = this.shareWithUnkeyed ? this.#skipAfter(claimed.length / limit) : SKIP;
    return claimed;
  }

  #skipAfter(fraction: number): number {
    if (fraction === 0) return Math.min(this.#skip * 2, MAX_SKIP_AFTER_NONE);
    return fraction < POOR ? SKIP_AFTER_POOR : SKIP;
  }

  async #search(claim: Omit<Search, 'after'>, windows: number): Promise<SqlRecord[]> {
    for (let searched = 0; searched < windows; searched++) {
      const records = await this.#run({ ...claim, after: this.#after });
      if (!records) return [];
      const claimed = records.filter(({ id }) => id !== null);
      const isLast = Number(records[0]?.window_rows) < claim.window;
      const startedAtFront = this.#after === undefined;
      this.#after = isLast || claimed.length > 0 ? undefined : endOf(records);
      if (claimed.length > 0 || (isLast && startedAtFront)) return claimed;
    }
    return [];
  }
}

function endOf([record]: readonly SqlRecord[]): DuePlace {
  return { availableAt: String(record?.last_available_at), seq: String(record?.last_seq) };
}
