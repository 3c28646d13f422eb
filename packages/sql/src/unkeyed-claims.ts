import type { Clock } from '@postcommit/core';
import type { Claim, DuePlace, UnkeyedClaim } from './dialect.js';
import { isRetaken, lastPlace } from './row-mapping.js';
import type { SqlRecord } from './sql-statement.js';

/** However full the batches are, rows at the front wait no longer than this to be looked for. */
export const FRONT_EVERY_MS = 1_000;

export interface UnkeyedRows {
  readonly rows: SqlRecord[];
  /** Whether rows with a key are due. */
  readonly areKeyedDue: boolean;
}

/**
 * Where to look for rows without a key. From the front, a search passes by all rows in flight, and by what the index
 * still holds of dispatched ones: while a transaction is open elsewhere, vacuum can't remove those, and they pile up.
 * So after a full batch the next search begins where that one ended.
 *
 * What stands before that place (a row committed late, a claim that expired) is found from the front: in the same
 * claim when it would not be full otherwise, and once a second however full they are.
 */
export class UnkeyedClaims {
  readonly #run: (claim: UnkeyedClaim) => Promise<SqlRecord[]>;
  readonly #clock: Clock;
  /** Where the last full batch ended. */
  #place: DuePlace | undefined;
  #frontAtMs = Number.NEGATIVE_INFINITY;

  constructor(run: (claim: UnkeyedClaim) => Promise<SqlRecord[]>, clock: Clock) {
    this.#run = run;
    this.#clock = clock;
  }

  async claim(claim: Claim): Promise<UnkeyedRows> {
    const isFrontsTurn = this.#clock.monotonicMs() - this.#frontAtMs >= FRONT_EVERY_MS;
    const after = isFrontsTurn ? undefined : this.#place;
    // Whatever becomes of this claim: only a full one knows a place.
    this.#place = undefined;
    const found = await this.#look({ ...claim, mayRetake: claim.mayRetake && !after, after });
    const { rows } = found;
    if (isRetaken(rows)) return found;
    if (rows.length === claim.limit) {
      this.#place = lastPlace(rows);
      return found;
    }
    if (!after) return found;
    const front = await this.#look({
      ...claim,
      limit: claim.limit - rows.length,
      mayRetake: claim.mayRetake && rows.length === 0,
      after: undefined,
    });
    return { ...front, rows: [...rows, ...front.rows] };
  }

  async #look(claim: UnkeyedClaim): Promise<UnkeyedRows> {
    if (!claim.after) this.#frontAtMs = this.#clock.monotonicMs();
    const records = await this.#run(claim);
    return {
      rows: records.filter(({ id }) => id !== null),
      areKeyedDue: records[0]?.keyed_due === true,
    };
  }
}
