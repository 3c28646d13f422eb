import type { Outcome } from '../message/outcome.js';
import type { Clock } from '../modules/clock.js';
import type { DispatchEvents } from '../observe/dispatch-events.js';
import type { OutboxStore } from '../store/outbox-store.js';
import type { CallLimit } from './call-limit.js';
import type { EndedRow } from './row-in-flight.js';

const FIRST_RETRY_MS = 50;
const LONGEST_RETRY_MS = 2_000;

/** Where outcomes are recorded, under which claim. */
export interface SettleTarget {
  readonly store: OutboxStore;
  readonly token: string;
  readonly calls: CallLimit;
  readonly clock: Clock;
  readonly events: DispatchEvents;
}

/**
 * Records outcomes and returns the ids that were still ours. A settle that fails is repeated for as long as
 * `retryForMs` allows: repeating it changes nothing, and what was published is then not published again. A settle that
 * is not answered for the length of a claim has failed too.
 */
export async function settleBatch(
  target: SettleTarget,
  ended: readonly EndedRow[],
  retryForMs: () => number,
): Promise<readonly string[]> {
  const outcomes = ended.map(({ outcome }) => outcome);
  // Everything was released or abandoned: an empty call could only fail or hang.
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
 * Where not every outcome can be recorded, those of published rows may be: each saves a duplicate. Returns the ids
 * that were recorded. Never rejects, since where this fails too, it fails for the same reason.
 */
export async function settlePublished(
  target: SettleTarget,
  ended: readonly EndedRow[],
): Promise<readonly string[]> {
  const dispatched = ended.map(({ outcome }) => outcome).filter(({ kind }) => kind === 'dispatched');
  const isWorthATry = dispatched.length > 0 && dispatched.length < ended.length;
  return isWorthATry ? settleOnce(target, dispatched).catch(() => []) : [];
}

function settleOnce(
  { calls, store, token }: SettleTarget,
  outcomes: readonly Outcome[],
): Promise<readonly string[]> {
  return calls.within(store.claimTimeoutMs, 'settle', store.settle(token, outcomes));
}
