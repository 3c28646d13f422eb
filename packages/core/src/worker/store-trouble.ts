import type { Random } from '../message/retry-policy.js';
import type { Clock } from '../modules/clock.js';
import type { DispatchEvents } from '../observe/dispatch-events.js';

// Waits while the store can't be reached. They double and have jitter.
const FIRST_WAIT_MS = 100;
const LONGEST_WAIT_MS = 5_000;

/** Tracks whether the store answers the worker's polls, and how long to wait while it does not. */
export class StoreTrouble {
  readonly #events: DispatchEvents;
  readonly #clock: Clock;
  readonly #random: Random;
  #current: { readonly sinceMs: number; readonly error: unknown; readonly tries: number } | undefined;
  #lastAnswerMs: number | undefined;

  constructor(events: DispatchEvents, clock: Clock, random: Random) {
    this.#events = events;
    this.#clock = clock;
    this.#random = random;
  }

  /** The current outage; undefined when the last poll was answered. */
  get current(): { readonly error: unknown } | undefined {
    return this.#current;
  }

  /** Undefined before the first answer. */
  get lastAnswerAgeMs(): number | undefined {
    return this.#lastAnswerMs === undefined ? undefined : this.#msSince(this.#lastAnswerMs);
  }

  answered(): void {
    this.#lastAnswerMs = this.#clock.monotonicMs();
    if (!this.#current) return;
    const afterMs = this.#msSince(this.#current.sinceMs);
    this.#current = undefined;
    this.#events.emit('recovered', { afterMs });
  }

  /** Returns the wait before the next try. Never 0: a store that fails at once must not cause a busy loop. */
  failed(error: unknown): number {
    const { sinceMs, tries } = this.#current ?? { sinceMs: this.#clock.monotonicMs(), tries: 0 };
    this.#current = { sinceMs, error, tries: tries + 1 };
    const longestMs = Math.min(FIRST_WAIT_MS * 2 ** Math.min(tries, 30), LONGEST_WAIT_MS);
    const retryInMs = Math.ceil(longestMs * (0.5 + this.#random() / 2));
    this.#events.emit('trouble', { error, retryInMs });
    return retryInMs;
  }

  /** Rounded, because people read it. */
  #msSince(monotonicMs: number): number {
    return Math.round(this.#clock.monotonicMs() - monotonicMs);
  }
}
