import type { Clock } from '@postcommit/core';
import type { Claim, DuePlace } from '../dialect.js';
import type { SqlRecord } from '../sql-statement.js';
import type { ClaimRunner, KeyedAnswer, KeyedRequest } from './claim-runner.js';
import { KeySweep } from './key-sweep.js';
import { ParkedKeys } from './parked-keys.js';
import { type Look, SkippingSearch, windowOf } from './skipping-search.js';

/** Maximum windows examined in one claim while none of their rows can be claimed: the sweep has its turn in between. */
const WINDOWS = 4;
/** Turns between two claims of a share: after a productive, a poor and a fruitless one. */
const TURNS = 1;
const TURNS_AFTER_POOR = 3;
const MAX_TURNS_AFTER_NONE = 16;
/** A claim that fills less than this fraction of its limit is poor, e.g. when there is one hot key. */
const POOR = 0.25;
/** The fraction of a batch that one key may take while rows without a key wait. */
const KEY_SHARE = 0.1;
/** Windows with more keys than this don't grow: looking up a key costs as much as reading several rows. */
const MANY_KEYS = 500;

type KeyedCalls = Pick<ClaimRunner, 'claimKeyed' | 'pendingKeys'>;
type SearchRequest = Omit<KeyedRequest, 'after' | 'parked'>;

/**
 * Decides where to search for rows with a key, and how often while that delays others. Any number of rows of blocked keys
 * must not hide the rows behind them. So the search passes them once: it remembers its place, and parks their keys. From
 * then on, each claim looks up the parked keys, and reads only the rows behind the place. A sweep through all keys finds
 * whatever else becomes claimable before it.
 */
export class KeyedSearch {
  readonly #runner: KeyedCalls;
  readonly #skipping: SkippingSearch;
  readonly #parked = new ParkedKeys();
  readonly #sweep: KeySweep;
  #turnsBetween = TURNS;
  /** After a batch that parked keys may have filled alone. */
  #isWindowsTurn = false;

  constructor(runner: KeyedCalls, clock: Clock) {
    this.#runner = runner;
    this.#skipping = new SkippingSearch(clock);
    this.#sweep = new KeySweep(clock, (after, limit) => runner.pendingKeys(after, limit));
  }

  /** Turns that belong to rows without a key before those with one come first again. */
  get turnsBetween(): number {
    return this.#turnsBetween;
  }

  /** Whether the last claim passed all rows it examined, and left some for the next one. */
  get isUnfinished(): boolean {
    return this.#skipping.isUnfinished;
  }

  /** Claims a whole batch. */
  async claimBatch(claim: Claim): Promise<SqlRecord[]> {
    const claimed = await this.#search({ ...claim, perKey: claim.limit, window: windowOf(claim) }, WINDOWS);
    this.#turnsBetween = TURNS;
    return claimed;
  }

  /** Claims half a batch and a tenth from each key, since rows without a key could fill it all. */
  async claimShare(claim: Claim): Promise<SqlRecord[]> {
    const share = { ...claim, limit: Math.ceil(claim.limit / 2) };
    const perKey = Math.ceil(claim.limit * KEY_SHARE);
    const claimed = await this.#search({ ...share, perKey, window: windowOf(share) }, 1);
    this.#turnsBetween = this.isUnfinished ? TURNS : this.#turnsAfter(claimed.length / share.limit);
    return claimed;
  }

  #turnsAfter(fraction: number): number {
    if (fraction === 0) return Math.min(this.#turnsBetween * 2, MAX_TURNS_AFTER_NONE);
    return fraction < POOR ? TURNS_AFTER_POOR : TURNS;
  }

  /** Looks up the parked keys once, however many windows it reads. */
  async #search(request: SearchRequest, windows: number): Promise<SqlRecord[]> {
    const keys = await this.#keysToLookUp();
    const claimed = await this.#searchWindows(request, windows, keys);
    this.#isWindowsTurn = keys.length > 0 && claimed.length === request.limit;
    return claimed;
  }

  async #keysToLookUp(): Promise<string[]> {
    const swept = await this.#keysSwept();
    const parked = this.#isWindowsTurn ? [] : this.#parked.next();
    return [...new Set([...parked, ...swept])];
  }

  /** While many rows are still to be passed, those behind them must not wait until that is done. */
  async #keysSwept(): Promise<string[]> {
    if (this.isUnfinished) return this.#sweep.next();
    return this.#skipping.start ? this.#sweep.ifDue() : [];
  }

  #searchWindows(request: SearchRequest, windows: number, keys: readonly string[]): Promise<SqlRecord[]> {
    let parked = keys;
    return this.#skipping.claim(request, windows, (rest, after) => {
      const looked = parked;
      parked = [];
      return this.#look({ ...request, ...rest, parked: looked, after });
    });
  }

  async #look(request: KeyedRequest): Promise<Look | undefined> {
    const answer = await this.#runner.claimKeyed(request);
    if (!answer) return undefined;
    this.#parked.remove(answer.emptyKeys);
    const { rows, window, blockedKeys } = answer;
    return {
      rows,
      examined: window.rows,
      end: window.last,
      passed: this.#placePassed(answer, request),
      isEnough: rows.length > 0,
      mayGrow: blockedKeys.length <= MANY_KEYS,
    };
  }

  /** Passes whole windows without a claimable row. A smaller one at the end costs little to read again. */
  #placePassed({ rows, window, blockedKeys }: KeyedAnswer, request: KeyedRequest): DuePlace | undefined {
    const isPassed = rows.length === 0 && window.rows === request.window && this.#parked.park(blockedKeys);
    return isPassed ? window.last : undefined;
  }
}
