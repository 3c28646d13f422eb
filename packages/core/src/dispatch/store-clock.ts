import type { Clock } from '../runtime/timing.js';

/**
 * The clock that stamps rows, carried on from the store's last answer: the clock of this process may be wrong. An answer
 * that took long makes it late, so that rows seem younger. Without one, it is the clock of this process.
 */
export class StoreClock {
  readonly #clock: Clock;
  #aheadMs: number | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  heard(nowMs: number): void {
    this.#aheadMs = nowMs - this.#clock.monotonicMs();
  }

  now(): number {
    return this.#aheadMs === undefined ? this.#clock.now() : this.#clock.monotonicMs() + this.#aheadMs;
  }
}
