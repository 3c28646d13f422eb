import type { Clock } from '@postcommit/core';
import type { Claim, DuePlace, UnkeyedClaim } from '../dialect.js';
import type { SqlRecord } from '../sql-statement.js';
import { isRetaken, lastPlace, placeBefore } from '../store/row-mapping.js';

/** However full the batches are, or slow the front is, rows there wait no longer than this to be looked for. */
export const FRONT_EVERY_MS = 1_000;
/** A search from the front is slow if it takes this long, and so many times as long as the quickest of them did. */
export const SLOW_MS = 2;
export const SLOW_TIMES = 3;
/** So many in a row are no accident. */
export const SLOW_IN_A_ROW = 10;
/** Where the front is slow, rows that commit this much after their enqueue are still found at once. */
export const LATE_MS = 1_000;

export interface UnkeyedRows {
  readonly rows: SqlRecord[];
  /** Whether rows with a key are due. */
  readonly areKeyedDue: boolean;
}

/** Where a batch ended. */
interface BatchEnd {
  readonly place: DuePlace;
  /** And all of it came from one search: there may be more behind it. */
  readonly wasFull: boolean;
}

const NOTHING: UnkeyedRows = { rows: [], areKeyedDue: false };

/**
 * Where to look for rows without a key. From the front, a search passes by all rows in flight, and by what the index
 * still holds of dispatched ones: while a transaction is open elsewhere, vacuum can't remove those, and they pile up.
 * So after a full batch the next search begins where that one ended; and where searches from the front have become
 * slow, each begins shortly before the end of the last batch, full or not.
 *
 * What stands before that place (a row committed late, a claim that expired) is found from the front: in the same
 * claim when it would not be full otherwise and the front is quick, and once a second in any case.
 */
export class UnkeyedClaims {
  readonly #run: (claim: UnkeyedClaim) => Promise<SqlRecord[]>;
  readonly #clock: Clock;
  #end: BatchEnd | undefined;
  #frontAtMs = Number.NEGATIVE_INFINITY;
  #quickestMs = Number.POSITIVE_INFINITY;
  #slowInARow = 0;

  constructor(run: (claim: UnkeyedClaim) => Promise<SqlRecord[]>, clock: Clock) {
    this.#run = run;
    this.#clock = clock;
  }

  async claim(claim: Claim): Promise<UnkeyedRows> {
    const isFrontsTurn = this.#clock.monotonicMs() - this.#frontAtMs >= FRONT_EVERY_MS;
    const last = this.#end;
    // Whatever becomes of this claim: only one that is answered knows a place.
    this.#end = undefined;
    const from = isFrontsTurn ? undefined : last;
    const behind = from?.wasFull ? await this.#lookBehind(claim, from.place) : NOTHING;
    if (behind.rows.length === claim.limit) {
      this.#end = endOf(behind.rows, true);
      return behind;
    }
    const rest = await this.#lookForRest(claim, behind.rows.length, from?.place);
    const rows = [...behind.rows, ...rest.rows];
    // After a row that was taken over, the front comes next: its owner may have left more.
    if (!isRetaken(rows)) this.#end = endOf(rows, rest.rows.length === claim.limit) ?? notFull(last);
    return { ...rest, rows };
  }

  #lookBehind(claim: Claim, place: DuePlace): Promise<UnkeyedRows> {
    return this.#look({ ...claim, mayRetake: false, after: place, isBacklog: true });
  }

  #lookForRest(claim: Claim, found: number, place: DuePlace | undefined): Promise<UnkeyedRows> {
    const isSlow = this.#slowInARow >= SLOW_IN_A_ROW;
    const after = isSlow && place ? placeBefore(place, LATE_MS) : undefined;
    const mayRetake = claim.mayRetake && found === 0 && !after;
    return this.#look({ ...claim, limit: claim.limit - found, mayRetake, after, isBacklog: false });
  }

  async #look(claim: UnkeyedClaim): Promise<UnkeyedRows> {
    const startedAtMs = this.#clock.monotonicMs();
    if (!claim.after) this.#frontAtMs = startedAtMs;
    const records = await this.#run(claim);
    const rows = records.filter(({ id }) => id !== null);
    if (!claim.after && rows.length < claim.limit) this.#judge(this.#clock.monotonicMs() - startedAtMs);
    return { rows, areKeyedDue: records[0]?.keyed_due === true };
  }

  /** How the front is. A full batch is not judged by: its time may be that of its rows. */
  #judge(tookMs: number): void {
    this.#quickestMs = Math.min(this.#quickestMs, tookMs);
    const isSlow = tookMs >= Math.max(SLOW_MS, SLOW_TIMES * this.#quickestMs);
    this.#slowInARow = isSlow ? this.#slowInARow + 1 : 0;
  }
}

function endOf(rows: readonly SqlRecord[], wasFull: boolean): BatchEnd | undefined {
  const place = rows.length === 0 ? undefined : lastPlace(rows);
  return place && { place, wasFull };
}

function notFull(end: BatchEnd | undefined): BatchEnd | undefined {
  return end && { ...end, wasFull: false };
}
