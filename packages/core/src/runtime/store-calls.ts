import { BoundedWaits, type Clock } from './timing.js';

/**
 * More than the SQL stores need to give up a statement and to release what it may have claimed: they also close its
 * connection. This is for stores without a limit of their own.
 */
const ANSWER_MS = 15_000;
/** A store that has left a call unanswered for this long does not answer. */
export const SILENT_AFTER_MS = 3_000;

/** The calls that publish rows. */
export type StoreCall = 'claim' | 'settle' | 'extend';

/** The calls to the store that a worker or dispatcher waits for. */
export class StoreCalls extends BoundedWaits {
  readonly #limits: CallLimits;

  constructor(clock: Clock, claimTimeoutMs: number) {
    super(clock, noAnswer);
    const firstMs = Math.min(ANSWER_MS, claimTimeoutMs);
    this.#limits = new CallLimits({ firstMs, longestMs: claimTimeoutMs, clock });
  }

  /** Resolves as `call` does. Rejects if it takes seconds too long, and much later while the store is slow. */
  answer<T>(kind: StoreCall, call: Promise<T>): Promise<T> {
    const bounded = this.within(this.#limits.limitMs(kind), kind, call);
    return this.#limits.watch(kind, bounded, (error) => error instanceof NoAnswer);
  }
}

class NoAnswer extends Error {}

export function noAnswer(what: string, limitMs: number): Error {
  return new NoAnswer(`${what}: the store has not answered for ${Math.round(limitMs)} ms`);
}

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

  /** Returns what `call` resolves or rejects with. `isExceeded` says by its error whether it took too long. */
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
