import type { OutboxRow } from '../../src/message/outbox-row.js';
import type { ClaimLedger } from './claim-ledger.js';
import type { History } from './history.js';
import type { ProcessStore } from './process-store.js';
import type { SimClock } from './sim-clock.js';
import type { SimProcess } from './sim-process.js';

/** Workers that were stopped. Holds I11 (clean stop). */
export class StopLedger {
  readonly #history: History;
  readonly #claims: ClaimLedger;
  readonly #clock: SimClock;
  readonly #abandoned = new Map<SimProcess, Set<string>>();

  constructor(history: History, claims: ClaimLedger, clock: SimClock) {
    this.#history = history;
    this.#claims = claims;
    this.#clock = clock;
  }

  /** `stop` resolved. */
  stopped(process: SimProcess, store: ProcessStore, abandoned: readonly string[]): void {
    process.isStopped = true;
    this.#history.note(process.name, 'stopped', () => `abandoned: ${abandoned.join(' ') || 'none'}`);
    this.#abandoned.set(process, new Set(abandoned));
    this.#assertReported(process, new Set(abandoned));
    if (abandoned.length > 0) return;
    if (process.pendingTimers > 0)
      this.#history.violated(
        'I11',
        `${process.pendingTimers} timers of ${process.name} remain after its stop`,
      );
    if (store.hasListeners)
      this.#history.violated('I11', `a listener of ${process.name} remains after its stop`);
  }

  /** A publish that began before the stop had its effect after it. */
  sentAfterStop(process: SimProcess, { id }: OutboxRow): void {
    if (!this.#abandoned.get(process)?.has(id))
      this.#history.violated('I11', `${id} went out after ${process.name} had stopped, and was not reported`);
  }

  /** What still carries a live claim was abandoned, and what was settled for sure was not. */
  #assertReported(process: SimProcess, abandoned: ReadonlySet<string>): void {
    for (const claim of this.#claims.claims) {
      if (claim.process !== process || !claim.isReceived) continue;
      for (const [id, { ended, untilMs, lastSettle }] of claim.rows) {
        const wasAbandoned = claim.abandoned.has(id);
        if (abandoned.has(id)) claim.abandoned.add(id);
        if (abandoned.has(id) || ended !== undefined || untilMs <= this.#clock.elapsedMs) continue;
        // What an earlier stop of the same worker left to expire, or what could not be settled long before, is
        // no longer its own.
        const wasGivenUp = lastSettle?.failed && lastSettle.atMs < (process.stopToldMs ?? 0);
        if (!wasAbandoned && !wasGivenUp)
          this.#history.violated('I11', `${process.name} stopped, still holds ${id}, and does not report it`);
      }
    }
    for (const id of abandoned)
      if (!this.#mayBeLeft(process, id))
        this.#history.violated('I11', `${process.name} reports ${id} as abandoned, and it is settled`);
  }

  #mayBeLeft(process: SimProcess, id: string): boolean {
    for (const claim of this.#claims.claims) {
      const row = claim.process === process ? claim.rows.get(id) : undefined;
      if (!row) continue;
      // What was settled, but not answered, is not known to be settled. What was given up, but runs on, may still
      // go out: it counts as abandoned, although its failure is recorded.
      if (row.publish && row.publish.end === undefined) return true;
      const isSettled = row.ended !== undefined && row.ended !== 'void' && row.ended !== 'expired';
      if (!isSettled || !row.lastSettle || claim.hadSettleTrouble) return true;
    }
    return false;
  }
}
