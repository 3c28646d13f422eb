import type { Clock } from './timing.js';

export interface CallLimitOptions {
  readonly firstMs: number;
  readonly longestMs: number;
  readonly clock: Clock;
}

/**
 * How long calls may take, for each kind of call. Short, so that a connection that turned silent is noticed. A store that
 * is slow must still get its work done, so the limit doubles while calls of a kind keep exceeding it. The first time it
 * does not: the next call may have a connection that works.
 */
export class CallLimits {
  readonly #options: CallLimitOptions;
  readonly #exceeded = new Map<string, number>();

  constructor(options: CallLimitOptions) {
    this.#options = options;
  }

  limitMs(kind: string): number {
    const { firstMs, longestMs } = this.#options;
    const doublings = Math.max(0, (this.#exceeded.get(kind) ?? 0) - 1);
    return Math.min(firstMs * 2 ** Math.min(doublings, 30), longestMs);
  }

  /** Returns what `call` resolves or rejects with. `isExceeded` tells from its error whether it took too long. */
  async watch<T>(kind: string, call: Promise<T>, isExceeded: (error: unknown) => boolean): Promise<T> {
    const { clock, firstMs } = this.#options;
    const sentAtMs = clock.monotonicMs();
    try {
      const answer = await call;
      if (clock.monotonicMs() - sentAtMs < firstMs) this.#exceeded.delete(kind);
      return answer;
    } catch (error) {
      if (isExceeded(error)) this.#exceeded.set(kind, (this.#exceeded.get(kind) ?? 0) + 1);
      throw error;
    }
  }
}
