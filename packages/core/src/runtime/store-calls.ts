import { CallLimits } from './call-limits.js';
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
