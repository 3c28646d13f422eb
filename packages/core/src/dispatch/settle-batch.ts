import type { Outcome } from '../message/outcome.js';
import type { Clock } from '../modules/clock.js';
import type { DispatchEvents } from '../observe/dispatch-events.js';
import type { OutboxStore } from '../store/outbox-store.js';
import type { CallLimit } from './call-limit.js';
import type { EndedRow } from './row-in-flight.js';

const FIRST_RETRY_MS = 50;
const LONGEST_RETRY_MS = 2_000;

/** The store and the claim under which outcomes are recorded. */
export interface SettleTarget {
  readonly store: OutboxStore;
  readonly token: string;
  readonly calls: CallLimit;
  readonly clock: Clock;
  readonly events: DispatchEvents;
}

/**
 * Records outcomes and returns the ids that were still ours. A failed settle is retried while `retryForMs` allows it,
 * so that published rows are not published again; settling twice is safe. A settle that is not answered within
 * `claimTimeoutMs` has failed.
 */
export async function settleBatch(
  target: SettleTarget,
  ended: readonly EndedRow[],
  retryForMs: () => number,
): Promise<readonly string[]> {
  const outcomes = ended.map(({ outcome }) => outcome);
  // All rows were released or abandoned. An empty call could only fail or hang.
  if (outcomes.length === 0) return [];
  for (let delayMs = FIRST_RETRY_MS; ; delayMs = Math.min(2 * delayMs, LONGEST_RETRY_MS)) {
    try {
      return await settleOnce(target, outcomes);
    } catch (error) {
      if (retryForMs() <= delayMs) throw error;
      target.events.emit('trouble', { error, retryInMs: delayMs });
      await new Promise<void>((resolve) => void target.clock.schedule(delayMs, resolve));
    }
  }
}

/**
 * Tries to record published rows alone after settling the whole batch failed: each one recorded is one duplicate less.
 * Returns the recorded ids. Never rejects; the caller already has the first error.
 */
export async function settlePublished(
  target: SettleTarget,
  ended: readonly EndedRow[],
): Promise<readonly string[]> {
  const dispatched = ended.map(({ outcome }) => outcome).filter(({ kind }) => kind === 'dispatched');
  const isSmallerBatch = dispatched.length > 0 && dispatched.length < ended.length;
  return isSmallerBatch ? settleOnce(target, dispatched).catch(() => []) : [];
}

function settleOnce(
  { calls, store, token }: SettleTarget,
  outcomes: readonly Outcome[],
): Promise<readonly string[]> {
  return calls.within(store.claimTimeoutMs, 'settle', store.settle(token, outcomes));
}
