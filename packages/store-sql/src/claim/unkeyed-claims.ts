import type { Clock } from '@postcommit/core';
import type { Claim, DuePlace, UnkeyedClaim } from '../dialect.js';
import type { SqlRecord } from '../sql-statement.js';
import { isRetaken, lastPlace, placeBefore } from '../store/row-mapping.js';

/** Search from the front at least this often, however full the batches or slow the front. */
export const FRONT_SEARCH_INTERVAL_MS = 1_000;
/** A search from the front is slow if it takes at least this long, and this many times as long as the fastest so far. */
export const MIN_SLOW_SEARCH_MS = 2;
export const SLOW_SEARCH_FACTOR = 3;
/** This many slow searches in a row are not a coincidence. */
export const SLOW_SEARCHES_IN_A_ROW = 10;
/** While the front is slow, rows committed up to this long after their enqueue are still found right away. */
export const LATE_COMMIT_MS = 1_000;

export interface UnkeyedRows {
  readonly rows: SqlRecord[];
  /** Whether rows with a key are due. */
  readonly areKeyedDue: boolean;
}

/** Where a batch ended. */
interface BatchEnd {
  readonly place: DuePlace;
  /** The whole batch came from one search, so there may be more rows behind it. */
  readonly wasFull: boolean;
}

const NOTHING: UnkeyedRows = { rows: [], areKeyedDue: false };

/**
 * Decides where to search for rows without a key. A search from the front skips all rows in flight, and the index
 * entries of dispatched rows that vacuum can't remove while a transaction is open elsewhere. These pile up. So after a
 * full batch, the next search starts where that batch ended. Once searches from the front have become slow, every
 * search starts shortly before the end of the last batch, full or not.
 *
 * Rows before that place (committed late, or with an expired claim) are found from the front: in the same claim if it
 * is not full yet and the front is fast, and once a second in any case.
 */
export class UnkeyedClaims {
  readonly #run: (claim: UnkeyedClaim) => Promise<SqlRecord[]>;
  readonly #clock: Clock;
  #end: BatchEnd | undefined;
  #frontAtMs = Number.NEGATIVE_INFINITY;
  #fastestMs = Number.POSITIVE_INFINITY;
  #slowInARow = 0;

  constructor(run: (claim: UnkeyedClaim) => Promise<SqlRecord[]>, clock: Clock) {
    this.#run = run;
    this.#clock = clock;
  }

  async claim(claim: Claim): Promise<UnkeyedRows> {
    const isFrontDue = this.#clock.monotonicMs() - this.#frontAtMs >= FRONT_SEARCH_INTERVAL_MS;
    const last = this.#end;
    // Cleared first, so that a claim that fails leaves no place behind.
    this.#end = undefined;
    const from = isFrontDue ? undefined : last;
    const behind = from?.wasFull ? await this.#searchBehind(claim, from.place) : NOTHING;
    if (behind.rows.length === claim.limit) {
      this.#end = endOf(behind.rows, true);
      return behind;
    }
    const rest = await this.#searchForRest(claim, behind.rows.length, from?.place);
    const rows = [...behind.rows, ...rest.rows];
    // After a retaken row, search from the front next: its owner may have left more.
    if (!isRetaken(rows)) this.#end = endOf(rows, rest.rows.length === claim.limit) ?? notFull(last);
    return { ...rest, rows };
  }

  #searchBehind(claim: Claim, place: DuePlace): Promise<UnkeyedRows> {
    return this.#search({ ...claim, mayRetake: false, after: place, isBacklog: true });
  }

  #searchForRest(claim: Claim, found: number, place: DuePlace | undefined): Promise<UnkeyedRows> {
    const isSlow = this.#slowInARow >= SLOW_SEARCHES_IN_A_ROW;
    const after = isSlow && place ? placeBefore(place, LATE_COMMIT_MS) : undefined;
    const mayRetake = claim.mayRetake && found === 0 && !after;
    return this.#search({ ...claim, limit: claim.limit - found, mayRetake, after, isBacklog: false });
  }

  async #search(claim: UnkeyedClaim): Promise<UnkeyedRows> {
    const startedAtMs = this.#clock.monotonicMs();
    if (!claim.after) this.#frontAtMs = startedAtMs;
    const records = await this.#run(claim);
    const rows = records.filter(({ id }) => id !== null);
    if (!claim.after && rows.length < claim.limit)
      this.#measureFront(this.#clock.monotonicMs() - startedAtMs);
    return { rows, areKeyedDue: records[0]?.keyed_due === true };
  }

  /** Full batches are not measured: the time may be spent on their rows. */
  #measureFront(tookMs: number): void {
    this.#fastestMs = Math.min(this.#fastestMs, tookMs);
    const isSlow = tookMs >= Math.max(MIN_SLOW_SEARCH_MS, SLOW_SEARCH_FACTOR * this.#fastestMs);
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
