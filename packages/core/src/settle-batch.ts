import type { DispatchEngine } from './dispatch-engine.js';
import type { DispatchSummary } from './outbox-dispatcher.js';
import type { OutboxRow } from './outbox-row.js';
import type { OutboxSignals } from './outbox-signals.js';
import type { Outcome } from './outcome.js';

/** A row and what became of it. */
export interface EndedRow {
  readonly row: OutboxRow;
  readonly outcome: Outcome;
}

const FIRST_RETRY_MS = 50;
const LONGEST_RETRY_MS = 2_000;

/**
 * Records outcomes; gives the ids that were still ours. A settle that fails is repeated for as long as `retryForMs`
 * says: it is the same the second time, and what was published is then not published again.
 */
export async function settleBatch(
  engine: DispatchEngine,
  token: string,
  ended: readonly EndedRow[],
  retryForMs: () => number,
): Promise<readonly string[]> {
  const outcomes = ended.map(({ outcome }) => outcome);
  for (let delayMs = FIRST_RETRY_MS; ; delayMs = Math.min(2 * delayMs, LONGEST_RETRY_MS)) {
    try {
      return await engine.store.settle(token, outcomes);
    } catch (error) {
      if (retryForMs() <= delayMs) return await lastTry(engine, token, outcomes, error);
      engine.signals.tell('trouble', { error, retryInMs: delayMs });
      await new Promise<void>((resolve) => void engine.clock.schedule(delayMs, resolve));
    }
  }
}

/** If the whole can't be recorded, what was published still may be: that saves a duplicate of each. */
async function lastTry(
  { store }: DispatchEngine,
  token: string,
  outcomes: readonly Outcome[],
  error: unknown,
): Promise<never> {
  const dispatched = outcomes.filter(({ kind }) => kind === 'dispatched');
  const isWorthATry = dispatched.length > 0 && dispatched.length < outcomes.length;
  // The first error is the one to know; where this fails too, it fails for the same reason.
  if (isWorthATry) await store.settle(token, dispatched).catch(() => []);
  throw error;
}

export function summarise(
  fetched: number,
  ended: readonly EndedRow[],
  settled: readonly string[],
): DispatchSummary {
  const ours = new Set(settled);
  const counts = { dispatched: 0, failed: 0, dead: 0, released: 0, fenced: 0 };
  for (const { outcome } of ended) counts[ours.has(outcome.id) ? outcome.kind : 'fenced'] += 1;
  const { dispatched, failed, dead, fenced } = counts;
  return { fetched, dispatched, failed, dead, fenced };
}

/** Told after it is in the table, and only for rows that were still ours. */
export function tellEnds(
  signals: OutboxSignals,
  ended: readonly EndedRow[],
  settled: readonly string[],
): void {
  const ours = new Set(settled);
  for (const { row, outcome } of ended) {
    if (outcome.kind === 'dispatched' || outcome.kind === 'released' || !ours.has(row.id)) continue;
    const { error } = outcome;
    if (outcome.kind === 'dead') {
      signals.tell('dead', { row, error, reason: outcome.reason });
      continue;
    }
    const told = { row, error, delayMs: outcome.delayMs };
    signals.tell('failed', told);
    if (row.attempts === 0) signals.tell('firstFailure', told);
  }
  const fenced = ended.flatMap(({ row }) => (ours.has(row.id) ? [] : [row.id]));
  if (fenced.length > 0) signals.tell('fenced', { ids: fenced });
}
