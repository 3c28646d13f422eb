import type { OutboxRow } from '../message/outbox-row.js';
import { attemptsOf, type Outcome } from '../message/outcome.js';
import type { OutboxSignals } from '../observe/outbox-signals.js';
import type { DispatchEngine } from './dispatch-engine.js';
import type { DispatchSummary } from './outbox-dispatcher.js';

/** A row and what became of it. */
export interface EndedRow {
  readonly row: OutboxRow;
  readonly outcome: Outcome;
}

type FailedOutcome = Extract<Outcome, { kind: 'failed' | 'dead' }>;

const FIRST_RETRY_MS = 50;
const LONGEST_RETRY_MS = 2_000;

/**
 * Records outcomes; gives the ids that were still ours. A settle that fails is repeated for as long as `retryForMs`
 * says: it is the same the second time, and what was published is then not published again. One that is not answered
 * for the length of a claim has failed too.
 */
export async function settleBatch(
  engine: DispatchEngine,
  token: string,
  ended: readonly EndedRow[],
  retryForMs: () => number,
): Promise<readonly string[]> {
  const outcomes = ended.map(({ outcome }) => outcome);
  // All was given back or abandoned: a call for nothing could only fail, or hang.
  if (outcomes.length === 0) return [];
  for (let delayMs = FIRST_RETRY_MS; ; delayMs = Math.min(2 * delayMs, LONGEST_RETRY_MS)) {
    try {
      return await settleOnce(engine, token, outcomes);
    } catch (error) {
      if (retryForMs() <= delayMs) throw error;
      engine.signals.tell('trouble', { error, retryInMs: delayMs });
      await new Promise<void>((resolve) => void engine.clock.schedule(delayMs, resolve));
    }
  }
}

/**
 * If the whole can't be recorded, what was published still may be: that saves a duplicate of each. Gives the ids that
 * were; never rejects, since where this fails too, it fails for the same reason.
 */
export async function settlePublished(
  engine: DispatchEngine,
  token: string,
  ended: readonly EndedRow[],
): Promise<readonly string[]> {
  const dispatched = ended.map(({ outcome }) => outcome).filter(({ kind }) => kind === 'dispatched');
  const isWorthATry = dispatched.length > 0 && dispatched.length < ended.length;
  return isWorthATry ? settleOnce(engine, token, dispatched).catch(() => []) : [];
}

function settleOnce(
  { calls, store }: DispatchEngine,
  token: string,
  outcomes: readonly Outcome[],
): Promise<readonly string[]> {
  return calls.within(store.claimTimeoutMs, 'settle', store.settle(token, outcomes));
}

/** Whether a row was still ours when its outcome was recorded; nearly always all of them were. */
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

/** Told after it is in the table, and only for rows that were still ours. */
export function tellEnds(
  signals: OutboxSignals,
  ended: readonly EndedRow[],
  isOurs: (id: string) => boolean,
): void {
  for (const { row, outcome } of ended) {
    if (outcome.kind === 'dispatched' || outcome.kind === 'released' || !isOurs(row.id)) continue;
    tellFailure(signals, rowAfter(row, outcome), outcome);
  }
  const fenced = ended.filter(({ row }) => !isOurs(row.id)).map(({ row }) => row.id);
  if (fenced.length > 0) signals.tell('fenced', { ids: fenced });
}

function tellFailure(signals: OutboxSignals, row: OutboxRow, outcome: FailedOutcome): void {
  const { error } = outcome;
  const isFirst = row.attempts === 1 && attemptsOf(outcome) === 1;
  if (outcome.kind === 'dead') {
    signals.tell('dead', { row, error, reason: outcome.reason });
    if (isFirst) signals.tell('firstFailure', { row, error, willRetry: false });
    return;
  }
  const { delayMs } = outcome;
  signals.tell('failed', { row, error, delayMs });
  if (isFirst) signals.tell('firstFailure', { row, error, willRetry: true, delayMs });
}

/** The row as its outcome leaves it. Times are this process's: asking for the database's would cost a statement. */
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
