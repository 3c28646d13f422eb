import type { Claim, DuePlace, KeyedClaim } from '../dialect.js';
import type { SqlRecord } from '../sql-statement.js';

/** Due rows looked at for each row wanted, and at the least. */
const WINDOW_FACTOR = 2;
const MIN_WINDOW = 500;
/** Windows looked at in one claim when all before were blocked. */
const MAX_WINDOWS = 8;
/** Turns passed over, while rows without a key fill the batches, after one that brought much, little or nothing. */
const PAUSE = 1;
const PAUSE_AFTER_LITTLE = 3;
const MAX_PAUSE_IN_VAIN = 16;
/** Less than this part of what was asked for is little: one hot key, for example. */
const LITTLE = 0.25;
/** The part of a batch that one key may take while rows without a key wait. */
const KEY_SHARE = 0.1;

type Look = Omit<KeyedClaim, 'lockWaitMs'>;

/**
 * When and where to look for rows with a key. A window full of blocked keys must not hide what is behind it: the
 * next look goes on where the last one ended, and begins anew at the end.
 */
export class KeyedClaims {
  readonly #run: (claim: Look) => Promise<SqlRecord[] | undefined>;
  #after: DuePlace | undefined;
  /** Turns to pass over until the next one, and after how many the last one came. */
  #wait = 0;
  #pause = PAUSE;
  /** What the last claim of unkeyed rows saw. Where no row has a key, nothing here is ever run. */
  areDue = false;
  shareWithUnkeyed = false;

  /** `run` returns undefined where the lock of keyed claims is out of reach. */
  constructor(run: (claim: Look) => Promise<SqlRecord[] | undefined>) {
    this.#run = run;
  }

  /** Every other time while there are some; more seldom while rows without a key fill the batches and few keys are free. */
  isTheirTurn(): boolean {
    if (!this.areDue) return false;
    if (this.#wait > 0) {
      this.#wait -= 1;
      return false;
    }
    this.#wait = this.#pause;
    return true;
  }

  async claim(claim: Claim): Promise<SqlRecord[]> {
    const limit = this.shareWithUnkeyed ? Math.ceil(claim.limit / 2) : claim.limit;
    const perKey = this.shareWithUnkeyed ? Math.ceil(claim.limit * KEY_SHARE) : claim.limit;
    const window = Math.max(MIN_WINDOW, limit * WINDOW_FACTOR);
    const claimed = await this.#look(
      { ...claim, limit, perKey, window },
      this.shareWithUnkeyed ? 1 : MAX_WINDOWS,
    );
    this.#pause = this.shareWithUnkeyed ? this.#pauseAfter(claimed.length / limit) : PAUSE;
    return claimed;
  }

  #pauseAfter(part: number): number {
    if (part === 0) return Math.min(this.#pause * 2, MAX_PAUSE_IN_VAIN);
    return part < LITTLE ? PAUSE_AFTER_LITTLE : PAUSE;
  }

  async #look(claim: Omit<Look, 'after'>, windows: number): Promise<SqlRecord[]> {
    for (let look = 0; look < windows; look++) {
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
