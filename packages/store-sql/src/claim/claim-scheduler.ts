import type { Clock } from '@postcommit/core';
import type { Claim, DuePlace } from '../dialect.js';
import { isRetaken, lastPlace, placeBefore } from '../row-mapping.js';
import type { SqlRecord } from '../sql-statement.js';
import type { ClaimAnswer, ClaimRunner } from './claim-runner.js';
import { isComplete, restOf } from './claim-runner.js';
import { ExceptSearch } from './except-search.js';
import { FRONT_SEARCH_INTERVAL_MS, LATE_COMMIT_MS } from './front-search.js';
import { KeyedSearch } from './keyed-search.js';

/** A search from the front is slow if it takes at least this long, and this many times as long as the fastest so far. */
export const MIN_SLOW_SEARCH_MS = 2;
export const SLOW_SEARCH_FACTOR = 3;
/** This many slow searches in a row are not a coincidence. */
export const SLOW_SEARCHES_IN_A_ROW = 10;

/**
 * Which rows with a key the last claim of rows without one saw:
 *
 * - `none`: none are due, so no keyed claim runs.
 * - `alone`: some are due, with few or no rows without a key.
 * - `shared`: some are due, and rows without a key would fill the batches.
 */
type KeyedDemand = 'none' | 'alone' | 'shared';

/** Maximum turns of one claim while a search is unfinished and nothing was found: enough to pass 6,000,000 rows. */
const MAX_TURNS = 100;
/** The part of a claim's time that may be spent on them: the rest belongs to its rows. */
const SEARCH_TIME = 0.1;

type ClaimCalls = Pick<ClaimRunner, 'claimUnkeyed' | 'claimUnkeyedExcept' | 'claimKeyed' | 'pendingKeys'>;

/** Searches that were used within this time continue where they ended. Later, too much may have changed before that place. */
const REMEMBERED_MS = FRONT_SEARCH_INTERVAL_MS;

/** The searches while the same topics are left out. */
interface Searches {
  readonly topics: readonly string[];
  /** Set only if topics are left out. */
  readonly except: ExceptSearch | undefined;
  readonly keyed: KeyedSearch;
  usedAtMs: number;
}

/** What the store asks for. */
export interface ClaimRequest extends Pick<Claim, 'token' | 'limit' | 'timeoutMs'> {
  readonly exceptTopics?: readonly string[] | undefined;
}

/**
 * Decides what each batch consists of. Rows with and without a key take turns at being claimed first, and the others fill
 * up the batch. A retaken row is claimed alone.
 */
export class ClaimScheduler {
  readonly #runner: ClaimCalls;
  readonly #clock: Clock;
  readonly #unkeyed: UnkeyedSearch;
  /** Claims that leave topics out may take turns with others, so each has a place of its own. */
  #remembered: Searches[] = [];
  #searches: Searches;
  #keyedDemand: KeyedDemand = 'none';
  /** Turns until rows with a key come first again. */
  #turnsLeft = 0;

  constructor(runner: ClaimCalls, clock: Clock) {
    this.#runner = runner;
    this.#clock = clock;
    this.#unkeyed = new UnkeyedSearch(runner, clock);
    this.#searches = this.#newSearches([]);
  }

  /** An unfinished search is not an empty outbox: it continues, so that a claim returns nothing only if nothing is due. */
  async claim(request: ClaimRequest): Promise<SqlRecord[]> {
    const { exceptTopics = [], ...rest } = request;
    const topics = [...new Set(exceptTopics)].sort();
    this.#leaveOut(topics);
    const claim: Claim = { ...rest, mayRetake: true, ...(topics.length > 0 && { exceptTopics: topics }) };
    const searches = this.#searches;
    try {
      return await this.#takeTurns(claim);
    } finally {
      // Passing a million rows takes longer than a place is remembered.
      searches.usedAtMs = this.#clock.monotonicMs();
    }
  }

  async #takeTurns(claim: Claim): Promise<SqlRecord[]> {
    const endMs = this.#clock.monotonicMs() + SEARCH_TIME * claim.timeoutMs;
    let rows = await this.#takeTurn(claim);
    for (let turn = 1; turn < MAX_TURNS && rows.length === 0 && this.#isUnfinished; turn++) {
      if (this.#clock.monotonicMs() >= endMs) break;
      rows = await this.#takeTurn(claim);
    }
    return rows;
  }

  /** Whether the searches of the last turn, which found nothing, ended before they had seen all due rows. */
  get #isUnfinished(): boolean {
    if (this.#searches.except?.isUnfinished) return true;
    return this.#keyedDemand !== 'none' && this.#searches.keyed.isUnfinished;
  }

  #takeTurn(claim: Claim): Promise<SqlRecord[]> {
    return this.#nextTurn() === 'keyed' ? this.#claimKeyedFirst(claim) : this.#claimUnkeyedFirst(claim);
  }

  /** Rows that were left out may be claimable now: a search with other topics has a place of its own. */
  #leaveOut(topics: readonly string[]): void {
    const nowMs = this.#clock.monotonicMs();
    if (!areEqual(topics, this.#searches.topics)) {
      const others = [...this.#remembered, this.#searches].filter(
        ({ usedAtMs }) => nowMs - usedAtMs < REMEMBERED_MS,
      );
      this.#searches = others.find((one) => areEqual(topics, one.topics)) ?? this.#newSearches(topics);
      this.#remembered = others.filter((one) => one !== this.#searches);
    }
    this.#searches.usedAtMs = nowMs;
  }

  #newSearches(topics: readonly string[]): Searches {
    const keyed = new KeyedSearch(this.#runner, this.#clock);
    const except = topics.length === 0 ? undefined : new ExceptSearch(topics, this.#runner, this.#clock);
    return { topics, except, keyed, usedAtMs: this.#clock.monotonicMs() };
  }

  /** Rows with a key come first every other time; less often while they share the batches and few keys are free. */
  #nextTurn(): 'keyed' | 'unkeyed' {
    if (this.#keyedDemand === 'none') return 'unkeyed';
    if (this.#turnsLeft > 0) {
      this.#turnsLeft -= 1;
      return 'unkeyed';
    }
    this.#turnsLeft = this.#searches.keyed.turnsBetween;
    return 'keyed';
  }

  async #claimKeyedFirst(claim: Claim): Promise<SqlRecord[]> {
    const keyed = await this.#claimKeyed(claim);
    if (isComplete(keyed, claim)) return keyed;
    return [...keyed, ...(await this.#claimUnkeyed(restOf(claim, keyed)))];
  }

  async #claimUnkeyedFirst(claim: Claim): Promise<SqlRecord[]> {
    const unkeyed = await this.#claimUnkeyed(claim);
    if (isComplete(unkeyed, claim) || this.#keyedDemand === 'none') return unkeyed;
    return [...unkeyed, ...(await this.#claimKeyed(restOf(claim, unkeyed)))];
  }

  async #claimUnkeyed(claim: Claim): Promise<SqlRecord[]> {
    const { rows, keyedDue } = await (this.#searches.except ?? this.#unkeyed).claim(claim);
    const isFull = rows.length === claim.limit;
    if (keyedDue) this.#keyedDemand = isFull ? 'shared' : 'alone';
    else this.#keyedDemand = 'none';
    return rows;
  }

  #claimKeyed(claim: Claim): Promise<SqlRecord[]> {
    return this.#keyedDemand === 'shared'
      ? this.#searches.keyed.claimShare(claim)
      : this.#searches.keyed.claimBatch(claim);
  }
}

function areEqual(some: readonly string[], others: readonly string[]): boolean {
  return some.length === others.length && some.every((each, place) => each === others[place]);
}

/** Where a batch ended. */
interface BatchEnd {
  readonly place: DuePlace;
  /** The whole batch came from one search, so there may be more rows behind it. */
  readonly wasFull: boolean;
}

const NOTHING: ClaimAnswer = { rows: [], keyedDue: false };

/**
 * Decides where to search for rows without a key. A search from the front skips all rows in flight, and the index
 * entries of dispatched rows that vacuum can't remove while a transaction is open elsewhere. These pile up. So after a
 * full batch, the next search starts where that batch ended. Once searches from the front have become slow, every
 * search starts shortly before the end of the last batch, full or not.
 *
 * Rows before that place (committed late, or with an expired claim) are found from the front: in the same claim if it
 * is not full yet and the front is fast, and once a second in any case.
 */
export class UnkeyedSearch {
  readonly #runner: Pick<ClaimRunner, 'claimUnkeyed'>;
  readonly #clock: Clock;
  #end: BatchEnd | undefined;
  #frontAtMs = Number.NEGATIVE_INFINITY;
  #fastestMs = Number.POSITIVE_INFINITY;
  #slowInARow = 0;

  constructor(runner: Pick<ClaimRunner, 'claimUnkeyed'>, clock: Clock) {
    this.#runner = runner;
    this.#clock = clock;
  }

  async claim(claim: Claim): Promise<ClaimAnswer> {
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
    const rest = await this.#searchForRest(restOf(claim, behind.rows), from?.place);
    const rows = [...behind.rows, ...rest.rows];
    // After a retaken row, search from the front next: its owner may have left more.
    if (!isRetaken(rows)) this.#end = endOf(rows, rest.rows.length === claim.limit) ?? notFull(last);
    return { ...rest, rows };
  }

  #searchBehind(claim: Claim, place: DuePlace): Promise<ClaimAnswer> {
    return this.#runner.claimUnkeyed({ ...claim, mayRetake: false, after: place, isBacklog: true });
  }

  #searchForRest(claim: Claim, place: DuePlace | undefined): Promise<ClaimAnswer> {
    const isSlow = this.#slowInARow >= SLOW_SEARCHES_IN_A_ROW;
    return isSlow && place ? this.#searchNear(claim, place) : this.#searchFront(claim);
  }

  /** Expired claims are only looked for from the front. */
  #searchNear(claim: Claim, place: DuePlace): Promise<ClaimAnswer> {
    const after = placeBefore(place, LATE_COMMIT_MS);
    return this.#runner.claimUnkeyed({ ...claim, mayRetake: false, after, isBacklog: false });
  }

  async #searchFront(claim: Claim): Promise<ClaimAnswer> {
    const startedAtMs = this.#clock.monotonicMs();
    this.#frontAtMs = startedAtMs;
    const answer = await this.#runner.claimUnkeyed({ ...claim, after: undefined, isBacklog: false });
    // Full batches are not measured: the time may be spent on their rows.
    if (answer.rows.length < claim.limit) this.#measureFront(this.#clock.monotonicMs() - startedAtMs);
    return answer;
  }

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
