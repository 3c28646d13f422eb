import type { Claim, KeyCursor, KeyedClaim } from './dialect.js';
import type { SqlRecord } from './sql-statement.js';

/** Due rows looked at for each row wanted, and at the least. */
const WINDOW_FACTOR = 2;
const MIN_WINDOW = 500;
/** Windows looked at in one claim when all before were blocked. */
const MAX_WINDOWS = 8;
/** The part of a batch that one key may take while rows without a key wait. */
const KEY_SHARE = 0.1;

/**
 * When and where to look for rows with a key. A window full of blocked keys must not hide what is behind it: the
 * next look goes on where the last one ended, and begins anew at the end.
 */
export class KeyedClaims {
  readonly #run: (claim: KeyedClaim) => Promise<SqlRecord[]>;
  #after: KeyCursor | undefined;
  #turn = false;
  /** What the last claim of unkeyed rows saw. Where no row has a key, nothing here is ever run. */
  areDue = false;
  shareWithUnkeyed = false;

  constructor(run: (claim: KeyedClaim) => Promise<SqlRecord[]>) {
    this.#run = run;
  }

  /** Every other time while there are some. */
  isTheirTurn(): boolean {
    this.#turn = this.areDue && !this.#turn;
    return this.#turn;
  }

  async claim(claim: Claim): Promise<SqlRecord[]> {
    const limit = this.shareWithUnkeyed ? Math.ceil(claim.limit / 2) : claim.limit;
    const perKey = this.shareWithUnkeyed ? Math.ceil(claim.limit * KEY_SHARE) : claim.limit;
    const window = Math.max(MIN_WINDOW, limit * WINDOW_FACTOR);
    for (let look = 0; look < MAX_WINDOWS; look++) {
      const records = await this.#run({ ...claim, limit, perKey, window, after: this.#after });
      const claimed = records.filter(({ id }) => id !== null);
      const isLast = Number(records[0]?.window_rows) < window;
      const startedAtFront = this.#after === undefined;
      this.#after = isLast || claimed.length > 0 ? undefined : cursorOf(records);
      if (claimed.length > 0 || (isLast && startedAtFront)) return claimed;
    }
    return [];
  }
}

function cursorOf([record]: readonly SqlRecord[]): KeyCursor {
  return { availableAt: String(record?.last_available_at), seq: String(record?.last_seq) };
}
