import type { Clock } from '../modules/clock.js';

/**
 * Limits how long we wait for calls to the store. The call itself can't be cancelled and may still complete later: on a
 * connection that was cut without a TCP reset, a query can hang for many minutes.
 */
export class CallLimit {
  readonly #clock: Clock;
  readonly #waiting = new Set<(error: Error) => void>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Resolves as `call` does. Rejects after `limitMs`, or when `giveUp` is called. `what` names the call in the error.
   */
  within<T>(limitMs: number, what: string, call: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const cancel = this.#clock.schedule(limitMs, () =>
        giveUp(new Error(`${what}: the store has not answered for ${Math.round(limitMs)} ms`)),
      );
      const end = (): void => {
        cancel();
        this.#waiting.delete(giveUp);
      };
      const giveUp = (error: Error): void => {
        end();
        reject(error);
      };
      this.#waiting.add(giveUp);
      call.finally(end).then(resolve, reject);
    });
  }

  /** Rejects every pending wait. No timer remains. */
  giveUp(error: Error): void {
    for (const giveUp of this.#waiting) giveUp(error);
  }
}
