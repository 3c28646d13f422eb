import type { WorkerSighting } from '../store/outbox-workers.js';

/** How often a worker reports that it is alive. */
export const HEARTBEAT_MS = 5_000;
/** A long publish must not be taken over while its worker sends heartbeats. */
export function takeoverMs(takeoverAfterMs: number, publishTimeoutMs: number): number {
  return Math.max(takeoverAfterMs, publishTimeoutMs + HEARTBEAT_MS);
}

/** A watcher that got no answer itself for this long knows nothing about the others. */
const LONGEST_GAP_MS = 2 * HEARTBEAT_MS;

/**
 * Finds workers that have died: those whose heartbeat did not change for their takeover time while this process
 * watched. It compares no clocks, so nobody is declared lost because a host or the database has the wrong time. When
 * this process itself was not answered for a while, the others get their full time again: perhaps nobody was.
 */
export class WorkerWatch {
  readonly #seen = new Map<
    string,
    { readonly lastSeen: string; readonly sinceMs: number; overdueAtMs: number }
  >();
  #readAtMs = Number.NEGATIVE_INFINITY;

  /** Takes a heartbeat's answer, which lists all other workers. Returns those to declare lost. */
  read(others: readonly WorkerSighting[], sentAtMs: number, answeredAtMs: number): WorkerSighting[] {
    if (sentAtMs - this.#readAtMs > LONGEST_GAP_MS) this.forget();
    this.#readAtMs = answeredAtMs;
    const ids = new Set(others.map(({ id }) => id));
    for (const id of this.#seen.keys()) if (!ids.has(id)) this.#seen.delete(id);
    return others.filter((other) => !other.isLost && this.#isOverdue(other, sentAtMs, answeredAtMs));
  }

  /** Starts over: what was seen before no longer counts. */
  forget(): void {
    this.#seen.clear();
  }

  /** When the next worker is overdue, unless it sends a heartbeat before. */
  get overdueAtMs(): number {
    return Math.min(...[...this.#seen.values()].map(({ overdueAtMs }) => overdueAtMs));
  }

  #isOverdue(other: WorkerSighting, sentAtMs: number, answeredAtMs: number): boolean {
    const { id, lastSeen, takeoverMs } = other;
    const known = this.#seen.get(id);
    if (known?.lastSeen !== lastSeen) {
      // Of the time before this answer, only what one heartbeat explains: the store's clock may be set.
      const sinceMs = answeredAtMs - Math.min(Math.max(other.ageMs, 0), HEARTBEAT_MS);
      this.#seen.set(id, { lastSeen, sinceMs, overdueAtMs: sinceMs + takeoverMs });
      return false;
    }
    if (sentAtMs < known.overdueAtMs) return false;
    // If it can't be declared lost now, the next heartbeat tries again.
    known.overdueAtMs = answeredAtMs + HEARTBEAT_MS;
    return true;
  }
}
