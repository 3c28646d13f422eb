import type { Clock } from '../runtime/timing.js';

/**
 * The clock that stamps rows, estimated from the store's last answer, because the clock of this process may be wrong. After
 * a slow answer it runs late, so rows seem younger. Before the first answer, it is the clock of this process.
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
