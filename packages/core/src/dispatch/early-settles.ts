import type { ClaimLease } from './claim-lease.js';
import { type EndedRow, isEnded, type RowInFlight } from './rows-in-flight.js';
import { type SettleTarget, settleOnce } from './settle-batch.js';

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
