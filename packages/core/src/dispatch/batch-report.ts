import type { DispatchSummary } from '../message/dispatch-summary.js';
import type { OutboxRow } from '../message/outbox-row.js';
import { attemptsOf, type Outcome } from '../message/outcome.js';
import type { DispatchEvents } from '../observe/dispatch-events.js';
import type { EndedRow } from './row-in-flight.js';

type FailedOutcome = Extract<Outcome, { kind: 'failed' | 'dead' }>;

/** Returns a test for rows that were still ours when their outcome was recorded. Nearly always, all were. */
export function stillOurs(ended: readonly EndedRow[], settled: readonly string[]): (id: string) => boolean {
  if (settled.length === ended.length) return () => true;
  const ours = new Set(settled);
  return (id) => ours.has(id);
}

export function summarise(
  fetched: number,
  ended: readonly EndedRow[],
  isOurs: (id: string) => boolean,
): DispatchSummary {
  const counts = { dispatched: 0, failed: 0, dead: 0, released: 0, fenced: 0 };
  for (const { outcome } of ended) counts[isOurs(outcome.id) ? outcome.kind : 'fenced'] += 1;
  const { dispatched, failed, dead, fenced } = counts;
  return { fetched, dispatched, failed, dead, fenced };
}

/** Emits the outcomes of rows that were still ours. Call it after they were recorded. */
export function emitOutcomes(
  events: DispatchEvents,
  ended: readonly EndedRow[],
  isOurs: (id: string) => boolean,
): void {
  for (const { row, outcome } of ended) {
    if (outcome.kind === 'dispatched' || outcome.kind === 'released' || !isOurs(row.id)) continue;
    emitFailure(events, rowAfter(row, outcome), outcome);
  }
  const fenced = ended.map(({ outcome }) => outcome.id).filter((id) => !isOurs(id));
  if (fenced.length > 0) events.emit('fenced', { ids: fenced });
}

function emitFailure(events: DispatchEvents, row: OutboxRow, outcome: FailedOutcome): void {
  const { error } = outcome;
  const isFirst = row.attempts === 1 && attemptsOf(outcome) === 1;
  if (outcome.kind === 'dead') {
    events.emit('dead', { row, error, reason: outcome.reason });
    if (isFirst) events.emit('firstFailure', { row, error, willRetry: false });
    return;
  }
  const { delayMs } = outcome;
  events.emit('failed', { row, error, delayMs });
  if (isFirst) events.emit('firstFailure', { row, error, willRetry: true, delayMs });
}

/** The row after its outcome. Times are from this process: reading the database's would cost a statement. */
function rowAfter(row: OutboxRow, outcome: FailedOutcome): OutboxRow {
  const { claimToken: _, ...unclaimed } = row;
  const now = Date.now();
  return {
    ...unclaimed,
    attempts: row.attempts + attemptsOf(outcome),
    retakes: 0,
    lastError: outcome.error,
    ...(outcome.kind === 'dead'
      ? { deadAt: new Date(now), deadReason: outcome.reason }
      : { availableAt: new Date(now + outcome.delayMs) }),
  };
}
