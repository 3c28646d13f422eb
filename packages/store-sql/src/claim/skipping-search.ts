import type { Clock } from '@postcommit/core';
import type { Claim, DuePlace } from '../dialect.js';
import { placeBefore } from '../row-mapping.js';
import type { SqlRecord } from '../sql-statement.js';
import { restOf } from './claim-runner.js';
import { LATE_COMMIT_MS } from './front-search.js';

/** Due rows examined per row wanted, and the minimum per window. */
const WINDOW_FACTOR = 2;
const MIN_WINDOW = 500;
/** Maximum windows examined in one claim while none of their rows can be claimed. */
export const MAX_WINDOWS = 8;
/** Each fruitless window doubles the next one, up to this many times the first. */
const MAX_GROWTH = 16;
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
  /** Whether a larger window would cost little more. */
  readonly mayGrow: boolean;
}

/** A claim within one window. */
export interface WindowRequest extends Claim {
  readonly window: number;
}

/** Returns undefined if rows can't be claimed at present. */
export type LookAt = (request: WindowRequest, after: DuePlace | undefined) => Promise<Look | undefined>;

/** A search through one window after another. */
export interface Walk {
  readonly rows: SqlRecord[];
  /** Where it ended; undefined for the front. */
  readonly end: DuePlace | undefined;
  /** The end of what was passed without a gap since the start. */
  readonly passed: DuePlace | undefined;
  readonly isAtEnd: boolean;
  readonly isEnough: boolean;
  /** Whether it ended only because it may examine no more windows. */
  readonly isUnfinished: boolean;
  /** How many times the first window the next one is to be. */
  readonly growth: number;
}

/** Where a walk begins. */
interface WalkStart {
  readonly from: DuePlace | undefined;
  readonly growth: number;
  /** The size of its first window, if `growth` does not decide that. */
  readonly firstWindow?: number | undefined;
}

/**
 * Decides where to search for rows that any number of others may hide: rows of topics that are left out, or of blocked
 * keys. No index leaves these out, so they are examined in windows, a bounded number per claim, and passed once: the
 * search remembers its place. Windows grow from claim to claim, until one finds a row. With batches of up to 250 rows, a
 * claim examines at most 64,000, so that 1,000,000 are passed after 17 claims.
 *
 * Rows before that place may become claimable (a late commit, an expired claim, a released batch). For a second after the
 * place has moved, the search looks for those of the second before it, within one window, whenever it is at its end. The
 * others are left to the sweeps of those who use it.
 */
export class SkippingSearch {
  readonly #clock: Clock;
  /** Everything before it has been passed. */
  #start: DuePlace | undefined;
  #startMovedAtMs: number;
  /** Where a walk that found nothing continues, if that is not the start. */
  #next: DuePlace | undefined;
  /** How many times the first window the next one is to be. */
  #growth = 1;
  #isUnfinished = false;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#startMovedAtMs = clock.monotonicMs();
  }

  /** Everything before it has been passed. Undefined: nothing has. */
  get start(): DuePlace | undefined {
    return this.#start;
  }

  /** Whether the last claim passed all rows it examined, and left some for the next one. */
  get isUnfinished(): boolean {
    return this.#isUnfinished;
  }

  /** A first window of a size of its own is for those who know that nothing is left out where the search begins. */
  async claim(claim: Claim, windows: number, look: LookAt, firstWindow?: number): Promise<SqlRecord[]> {
    this.#isUnfinished = false;
    const [start, next] = [this.#start, this.#next];
    const begin = { from: next ?? start, growth: this.#growth, firstWindow };
    const walk = await walkFrom(begin, claim, windows, look);
    if (!next && walk.passed !== start) this.#moveStart(walk.passed);
    const isOver = walk.isAtEnd || walk.rows.length > 0 || walk.end === this.#start;
    this.#next = isOver ? undefined : walk.end;
    this.#isUnfinished = walk.isUnfinished && walk.end === this.#start;
    this.#growth = walk.isUnfinished ? walk.growth : 1;
    if (!start || walk.isEnough || !walk.isAtEnd) return walk.rows;
    return [...walk.rows, ...(await this.#searchLate(restOf(claim, walk.rows), start, look))];
  }

  #moveStart(place: DuePlace | undefined): void {
    this.#start = place;
    this.#startMovedAtMs = this.#clock.monotonicMs();
  }

  async #searchLate(claim: Claim, start: DuePlace, look: LookAt): Promise<readonly SqlRecord[]> {
    if (this.#clock.monotonicMs() - this.#startMovedAtMs > LATE_COMMIT_MS) return [];
    const window = LATE_WINDOW * windowOf(claim);
    const late = await look({ ...claim, window }, placeBefore(start, LATE_COMMIT_MS));
    return late?.rows ?? [];
  }
}

export async function walkFrom(start: WalkStart, claim: Claim, windows: number, look: LookAt): Promise<Walk> {
  const rows: SqlRecord[] = [];
  let [end, passed, growth] = [start.from, start.from, start.growth];
  for (let looks = 0; looks < windows; looks++) {
    const window = (looks === 0 && start.firstWindow) || growth * windowOf(claim);
    const found = await look({ ...restOf(claim, rows), window }, end);
    if (!found) return { rows, end, passed, growth, isAtEnd: false, isEnough: false, isUnfinished: false };
    rows.push(...found.rows);
    if (passed === end) passed = found.passed ?? passed;
    end = found.end ?? end;
    const [isAtEnd, { isEnough }] = [found.examined < window, found];
    if (isAtEnd || isEnough) return { rows, end, passed, growth, isAtEnd, isEnough, isUnfinished: false };
    if (found.rows.length === 0 && found.mayGrow) growth = Math.min(2 * growth, MAX_GROWTH);
  }
  return { rows, end, passed, growth, isAtEnd: false, isEnough: false, isUnfinished: true };
}
