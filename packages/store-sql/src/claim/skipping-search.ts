import type { Clock } from '@postcommit/core';
import type { Claim, DuePlace } from '../dialect.js';
import { placeBefore } from '../row-mapping.js';
import type { SqlRecord } from '../sql-statement.js';
import { restOf } from './claim-runner.js';
import { FRONT_SEARCH_INTERVAL_MS, LATE_COMMIT_MS } from './front-search.js';

/** Due rows examined per row wanted, and the minimum per window. */
const WINDOW_FACTOR = 2;
const MIN_WINDOW = 500;
/** Maximum windows examined in one claim while none of their rows can be claimed. */
export const MAX_WINDOWS = 8;
/** Each fruitless window doubles the next one, up to this many times the first. */
const MAX_GROWTH = 16;
/** Maximum windows that a sweep examines every second: 7,500 rows with batches of up to 250. */
const SWEEP_WINDOWS = 4;
/** Searches for late commits cover this many first windows: rows that are left out may arrive as fast. */
const LATE_WINDOW = 4;

/** Returns the size of the first window of a claim. */
export function windowOf({ limit }: Claim): number {
  return Math.max(MIN_WINDOW, limit * WINDOW_FACTOR);
}

/** What a look at one window found. */
export interface Look {
  readonly rows: readonly SqlRecord[];
  /** How many due rows there are in the window. */
  readonly examined: number;
  /** Where the next look continues; undefined for the place where this one began. */
  readonly end: DuePlace | undefined;
  /** The end of what is not worth another look soon; undefined for the place where this look began. */
  readonly passed: DuePlace | undefined;
  /** Whether the batch takes no more rows. */
  readonly isEnough: boolean;
}

/** A claim within one window. */
export interface WindowRequest extends Claim {
  readonly window: number;
}

/** Returns undefined if rows can't be claimed at present. */
export type LookAt = (request: WindowRequest, after: DuePlace | undefined) => Promise<Look | undefined>;

/** A search through one window after another. */
interface Walk {
  readonly rows: SqlRecord[];
  /** Where it ended; undefined for the front. */
  readonly end: DuePlace | undefined;
  /** The end of what was passed without a gap since the start. */
  readonly passed: DuePlace | undefined;
  readonly isAtEnd: boolean;
  readonly isEnough: boolean;
}

interface Sweep extends Walk {
  /** Whether it went from the front to the end. */
  readonly isWhole: boolean;
}

/**
 * Decides where to search while topics are left out. Any number of their rows may come first, and no index leaves them
 * out, so they are examined in windows, a bounded number per claim, and passed once: the search remembers its place. With
 * batches of up to 250 rows, one claim examines at most 39,500, so that 1,000,000 are passed after 26 claims.
 *
 * Rows before that place may become claimable (a late commit, an expired claim, a released batch). The search looks for
 * those of the last second, within one window, whenever it is at its end; for the others, a sweep walks once more from
 * the front, a few windows every second.
 */
export class SkippingSearch {
  readonly #clock: Clock;
  /** Everything before it has been passed. */
  #start: DuePlace | undefined;
  /** Where a walk that found nothing continues, if that is not the start. */
  #next: DuePlace | undefined;
  #sweep: DuePlace | undefined;
  #sweptAtMs: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#sweptAtMs = clock.monotonicMs();
  }

  async claim(claim: Claim, windows: number, look: LookAt): Promise<SqlRecord[]> {
    const swept = await this.#continueSweep(claim, windows, look);
    if (swept?.isEnough || swept?.isWhole) return swept.rows;
    const rows = swept?.rows ?? [];
    return [...rows, ...(await this.#continue(restOf(claim, rows), windows, look))];
  }

  async #continueSweep(claim: Claim, windows: number, look: LookAt): Promise<Sweep | undefined> {
    const now = this.#clock.monotonicMs();
    if (!this.#start || now - this.#sweptAtMs < FRONT_SEARCH_INTERVAL_MS) return undefined;
    this.#sweptAtMs = now;
    const from = this.#sweep;
    const walk = await walkFrom(from, claim, Math.min(windows, SWEEP_WINDOWS), look);
    this.#sweep = walk.isAtEnd || isBehind(walk.end, this.#start) ? undefined : walk.end;
    return { ...walk, isWhole: !from && walk.isAtEnd };
  }

  async #continue(claim: Claim, windows: number, look: LookAt): Promise<SqlRecord[]> {
    const [start, next] = [this.#start, this.#next];
    const walk = await walkFrom(next ?? start, claim, windows, look);
    if (!next) this.#start = walk.passed;
    const isOver = walk.isAtEnd || walk.rows.length > 0 || walk.end === this.#start;
    this.#next = isOver ? undefined : walk.end;
    if (!start || walk.isEnough || !walk.isAtEnd) return walk.rows;
    const rest = restOf(claim, walk.rows);
    const window = LATE_WINDOW * windowOf(claim);
    const late = await look({ ...rest, window }, placeBefore(start, LATE_COMMIT_MS));
    return [...walk.rows, ...(late?.rows ?? [])];
  }
}

async function walkFrom(
  start: DuePlace | undefined,
  claim: Claim,
  windows: number,
  look: LookAt,
): Promise<Walk> {
  const rows: SqlRecord[] = [];
  let [end, passed] = [start, start];
  let window = windowOf(claim);
  for (let looks = 0; looks < windows; looks++) {
    const found = await look({ ...restOf(claim, rows), window }, end);
    if (!found) break;
    rows.push(...found.rows);
    if (passed === end) passed = found.passed ?? passed;
    end = found.end ?? end;
    const isAtEnd = found.examined < window;
    if (isAtEnd || found.isEnough) return { rows, end, passed, isAtEnd, isEnough: found.isEnough };
    if (found.rows.length === 0) window = Math.min(2 * window, MAX_GROWTH * windowOf(claim));
  }
  return { rows, end, passed, isAtEnd: false, isEnough: false };
}

function isBehind(place: DuePlace | undefined, other: DuePlace): boolean {
  if (!place) return false;
  const later = Number(place.availableAt) - Number(other.availableAt);
  return later > 0 || (later === 0 && Number(place.seq) > Number(other.seq));
}
