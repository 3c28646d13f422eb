import type { Clock } from '@postcommit/core';
import { FRONT_SEARCH_INTERVAL_MS } from './front-search.js';

/** Keys looked up every second. */
const KEYS = 500;

/** Returns, in the order of the keys, those behind `after` that have a pending row: at most `limit`, none at the end. */
export type PendingKeys = (after: string | undefined, limit: number) => Promise<string[]>;

/**
 * Goes through the keys of all pending rows, 500 every second: rows that a search has passed may be claimable now. In the
 * order of keys, a key costs the same however many rows it has.
 */
export class KeySweep {
  readonly #clock: Clock;
  readonly #pendingKeys: PendingKeys;
  #after: string | undefined;
  #sweptAtMs: number;

  constructor(clock: Clock, pendingKeys: PendingKeys) {
    this.#clock = clock;
    this.#pendingKeys = pendingKeys;
    this.#sweptAtMs = clock.monotonicMs();
  }

  /** Returns the keys to look up now, if a second has passed. */
  async ifDue(): Promise<string[]> {
    return this.#clock.monotonicMs() - this.#sweptAtMs < FRONT_SEARCH_INTERVAL_MS ? [] : this.next();
  }

  async next(): Promise<string[]> {
    this.#sweptAtMs = this.#clock.monotonicMs();
    const behind = await this.#pendingKeys(this.#after, KEYS);
    const isAtEnd = behind.length === 0 && this.#after !== undefined;
    const keys = isAtEnd ? await this.#pendingKeys(undefined, KEYS) : behind;
    this.#after = keys.at(-1);
    return keys;
  }
}
