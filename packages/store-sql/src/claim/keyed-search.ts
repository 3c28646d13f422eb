import type { Clock } from '@postcommit/core';
import type { Claim, DuePlace } from '../dialect.js';
import type { SqlRecord } from '../sql-statement.js';
import type { ClaimRunner, KeyedRequest } from './claim-runner.js';
import { type Look, MAX_WINDOWS, SkippingSearch, windowOf } from './skipping-search.js';

/** Turns between two claims of a share: after a productive, a poor and a fruitless one. */
const TURNS = 1;
const TURNS_AFTER_POOR = 3;
const MAX_TURNS_AFTER_NONE = 16;
/** A claim that fills less than this fraction of its limit is poor, e.g. when there is one hot key. */
const POOR = 0.25;
/** The fraction of a batch that one key may take while rows without a key wait. */
const KEY_SHARE = 0.1;

/**
 * Decides where to search for rows with a key, and how often while that delays others. A window full of blocked keys must
 * not hide the rows behind it: each search continues where the last one ended, and starts over at the end.
 */
export class KeyedSearch {
  readonly #runner: Pick<ClaimRunner, 'claimKeyed'>;
  readonly #clock: Clock;
  #skipping: SkippingSearch;
  #after: DuePlace | undefined;
  #turnsBetween = TURNS;

  constructor(runner: Pick<ClaimRunner, 'claimKeyed'>, clock: Clock) {
    this.#runner = runner;
    this.#clock = clock;
    this.#skipping = new SkippingSearch(clock);
  }

  /** Turns that belong to rows without a key before those with one come first again. */
  get turnsBetween(): number {
    return this.#turnsBetween;
  }

  /** Searches from the front next. */
  forget(): void {
    this.#after = undefined;
    this.#skipping = new SkippingSearch(this.#clock);
  }

  /** Claims a whole batch. */
  async claimBatch(claim: Claim): Promise<SqlRecord[]> {
    const claimed = await this.#search(requestOf(claim, claim.limit), MAX_WINDOWS);
    this.#turnsBetween = TURNS;
    return claimed;
  }

  /** Claims half a batch and a tenth from each key, since rows without a key could fill it all. */
  async claimShare(claim: Claim): Promise<SqlRecord[]> {
    const limit = Math.ceil(claim.limit / 2);
    const perKey = Math.ceil(claim.limit * KEY_SHARE);
    const claimed = await this.#search(requestOf({ ...claim, limit }, perKey), 1);
    this.#turnsBetween = this.#turnsAfter(claimed.length / limit);
    return claimed;
  }

  #turnsAfter(fraction: number): number {
    if (fraction === 0) return Math.min(this.#turnsBetween * 2, MAX_TURNS_AFTER_NONE);
    return fraction < POOR ? TURNS_AFTER_POOR : TURNS;
  }

  async #search(request: Omit<KeyedRequest, 'after'>, windows: number): Promise<SqlRecord[]> {
    if (request.exceptTopics) {
      return this.#skipping.claim(request, windows, (rest, place) =>
        this.#look({ ...request, ...rest }, place),
      );
    }
    for (let searched = 0; searched < windows; searched++) {
      const answer = await this.#runner.claimKeyed({ ...request, after: this.#after });
      if (!answer) return [];
      const { rows, window } = answer;
      const isLast = window.rows < request.window;
      const startedAtFront = this.#after === undefined;
      this.#after = isLast || rows.length > 0 ? undefined : window.last;
      if (rows.length > 0 || (isLast && startedAtFront)) return rows;
    }
    return [];
  }

  /** Passes only rows that are left out: the keys of others become free at any time. */
  async #look(request: Omit<KeyedRequest, 'after'>, after: DuePlace | undefined): Promise<Look | undefined> {
    const answer = await this.#runner.claimKeyed({ ...request, after });
    if (!answer) return undefined;
    const { rows, window, firstKept } = answer;
    const passed = firstKept ? justBefore(firstKept) : window.last;
    return { rows, examined: window.rows, end: window.last, passed, isEnough: rows.length > 0 };
  }
}

function requestOf(claim: Claim, perKey: number): Omit<KeyedRequest, 'after'> {
  return { ...claim, perKey, window: windowOf(claim) };
}

function justBefore({ availableAt, seq }: DuePlace): DuePlace {
  return { availableAt, seq: String(BigInt(seq) - 1n) };
}
