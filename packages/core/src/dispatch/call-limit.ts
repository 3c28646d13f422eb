import type { Clock } from '../modules/clock.js';

/**
 * Bounds calls of a store. A call may end later all the same: a connection that was cut off without a word answers
 * nothing for a very long time, and nobody can call the question back.
 */
export class CallLimit {
  readonly #clock: Clock;
  readonly #waiting = new Set<(error: Error) => void>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Rejects when `call` has not ended after `limitMs`, or at `giveUp`. */
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

  /** Stops waiting for all calls. Afterwards no timer remains. */
  giveUp(error: Error): void {
    for (const giveUp of this.#waiting) giveUp(error);
  }
}
