import type { DispatchSummary } from '../message/dispatch-summary.js';
import type { OutboxRow } from '../message/outbox-row.js';
import { attemptsOf, type Outcome } from '../message/outcome.js';
import type { DispatchEvents } from '../observe/dispatch-events.js';
import type { StoreCalls } from '../runtime/store-calls.js';
import type { Clock } from '../runtime/timing.js';
import type { OutboxStore } from '../store/outbox-store.js';
import type { ClaimLease } from './claim-lease.js';
import { type EndedRow, isEnded, type RowInFlight } from './rows-in-flight.js';

const FIRST_RETRY_MS = 50;
const LONGEST_RETRY_MS = 2_000;

type FailedOutcome = Extract<Outcome, { kind: 'failed' | 'dead' }>;

/** The store and the claim under which outcomes are recorded. */
export interface SettleTarget {
  readonly store: OutboxStore;
  readonly token: string;
  readonly calls: StoreCalls;
  readonly clock: Clock;
  readonly events: DispatchEvents;
}

/**
 * Records outcomes and returns the ids that were still ours. A failed settle is retried while `retryForMs` allows it,
 * so that published rows are not published again; settling twice is safe. A settle that is not answered in time has failed.
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
  return calls.answer('settle', store.settle(token, outcomes));
}

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
  const unavailable = ended.filter(({ outcome }) => isUnavailable(outcome) && isOurs(outcome.id)).length;
  return { fetched, dispatched, failed, dead, fenced, ...(unavailable > 0 && { unavailable }) };
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

function isUnavailable(outcome: Outcome): boolean {
  return outcome.kind === 'released' && outcome.isUnavailable === true;
}

/** Published rows are recorded when there are this many… */
const MANY_ROWS = 8;
/** …but not more often than this. A fast batch ends before. */
const LEAST_WAIT_MS = 100;
/** Or after this time, however few there are. */
const LONGEST_WAIT_MS = 250;

/** Rows that were recorded before their batch ended, and the ids of those that were still ours. */
export interface EarlySettled {
  readonly rows: readonly EndedRow[];
  readonly settled: readonly string[];
}

/**
 * Records published rows while the others of a slow batch are published, so that a crash repeats few of them. Failed
 * rows wait for the end of the batch: the rows behind them must be released with them.
 */
export class EarlySettles {
  readonly #rows: readonly RowInFlight[];
  readonly #target: SettleTarget;
  readonly #lease: ClaimLease;
  readonly #recorded: EndedRow[] = [];
  readonly #settled: string[] = [];
  #published = 0;
  #lastMs: number;
  #settling: Promise<void> | undefined;

  constructor(rows: readonly RowInFlight[], target: SettleTarget, lease: ClaimLease) {
    this.#rows = rows;
    this.#target = target;
    this.#lease = lease;
    this.#lastMs = target.clock.monotonicMs();
  }

  /** Records what has been published if it is time. */
  rowEnded(): void {
    this.#published += 1;
    if (this.#settling !== undefined) return;
    const waitedMs = this.#target.clock.monotonicMs() - this.#lastMs;
    if (waitedMs < LEAST_WAIT_MS || (waitedMs < LONGEST_WAIT_MS && this.#published < MANY_ROWS)) return;
    const rows = this.#rows.filter(isEnded).filter(({ outcome }) => outcome.kind === 'dispatched');
    if (rows.length === 0 || !this.#lease.isIdle) return;
    this.#published = 0;
    this.#settling = this.#settle(rows).finally(() => {
      this.#lastMs = this.#target.clock.monotonicMs();
      this.#settling = undefined;
    });
  }

  /** What was recorded. Call it when no more rows end. */
  async finished(): Promise<EarlySettled> {
    await this.#settling;
    return { rows: this.#recorded, settled: this.#settled };
  }

  /** Never rejects: rows that could not be recorded are recorded with their batch. */
  async #settle(rows: ReadonlyArray<RowInFlight & EndedRow>): Promise<void> {
    // An extension must not name them any more: it would find them gone and take them for lost.
    this.#lease.drop(rows);
    for (const flight of rows) flight.phase = 'settling';
    try {
      const settled = await settleOnce(
        this.#target,
        rows.map(({ outcome }) => outcome),
      );
      for (const flight of rows) flight.phase = 'settled';
      this.#recorded.push(...rows);
      this.#settled.push(...settled);
    } catch {
      for (const flight of rows) flight.phase = 'ended';
      this.#lease.holdAgain(rows);
    }
  }
}
