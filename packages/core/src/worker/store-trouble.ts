import type { Random } from '../message/retry-policy.js';
import type { Clock } from '../modules/clock.js';
import type { DispatchEvents } from '../observe/dispatch-events.js';

/** The waits while the store can't be reached: jittered, doubling. */
const FIRST_WAIT_MS = 100;
const LONGEST_WAIT_MS = 5_000;

/** Whether the store answers a worker's polls, and how long to wait while it does not. */
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

  /** Undefined when the last poll was answered. */
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

  /** Gives the wait before the next try: never none, a store that refuses at once must not be asked in a busy loop. */
  failed(error: unknown): number {
    const { sinceMs, tries } = this.#current ?? { sinceMs: this.#clock.monotonicMs(), tries: 0 };
    this.#current = { sinceMs, error, tries: tries + 1 };
    const longestMs = Math.min(FIRST_WAIT_MS * 2 ** Math.min(tries, 30), LONGEST_WAIT_MS);
    const retryInMs = Math.ceil(longestMs * (0.5 + this.#random() / 2));
    this.#events.emit('trouble', { error, retryInMs });
    return retryInMs;
  }

  /** Whole milliseconds: people read them. */
  #msSince(monotonicMs: number): number {
    return Math.round(this.#clock.monotonicMs() - monotonicMs);
  }
}
