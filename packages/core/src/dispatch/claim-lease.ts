import { errorText } from '../message/error-text.js';
import type { OutboxRow } from '../message/outbox-row.js';
import type { Clock } from '../observe/clock.js';
import type { OutboxStore } from '../store/outbox-store.js';
import { heartbeatMs } from './outbox-config.js';

/** Rows that are published in one call, and how it is aborted. */
interface Running {
  readonly abort: (reason: Error) => void;
  /** Rows of the call that are still ours. */
  held: number;
}

/**
 * Keeps the claim of one batch alive while its rows are published, and tells when it is lost. The deadline runs
 * on the process's own clock from before the claim was sent, so it always passes before the database's does.
 */
export class ClaimLease {
  readonly #store: OutboxStore;
  readonly #token: string;
  readonly #clock: Clock;
  readonly #held: Set<string>;
  readonly #running = new Map<string, Running>();
  #deadlineMs: number;
  #lastFailure: unknown;
  #cancelHeartbeat: () => void;
  #cancelDeadline: () => void;

  constructor(store: OutboxStore, token: string, ids: Iterable<string>, sentAtMs: number, clock: Clock) {
    this.#store = store;
    this.#token = token;
    this.#clock = clock;
    this.#held = new Set(ids);
    this.#deadlineMs = sentAtMs + store.claimTimeoutMs;
    // From the sending too: a claim that waited long for its answer would run out before its first heartbeat.
    this.#cancelHeartbeat = this.#scheduleHeartbeat(clock.monotonicMs() - sentAtMs);
    this.#cancelDeadline = this.#scheduleDeadline();
  }

  /** Whether a publish of this row may start now. */
  holds(id: string): boolean {
    return this.#held.has(id) && this.#clock.monotonicMs() < this.#deadlineMs;
  }

  /** Calls `abort` if the claims on all these rows are lost before `publishEnded`. */
  publishStarted(rows: readonly OutboxRow[], abort: (reason: Error) => void): void {
    const running = { abort, held: rows.length };
    for (const { id } of rows) this.#running.set(id, running);
  }

  publishEnded(rows: readonly OutboxRow[]): void {
    for (const { id } of rows) this.#running.delete(id);
  }

  /** Aborts every publish that runs. */
  abortAll(reason: Error): void {
    for (const { abort } of new Set(this.#running.values())) abort(reason);
  }

  /** No longer ours to extend: settled or given back. */
  drop(rows: readonly OutboxRow[]): void {
    for (const { id } of rows) this.#held.delete(id);
  }

  /** What is left of the claim, by the process's own clock. */
  get remainingMs(): number {
    return this.#deadlineMs - this.#clock.monotonicMs();
  }

  /** Lets the claim run out. */
  stopExtending(): void {
    this.#cancelHeartbeat();
  }

  end(): void {
    this.#cancelHeartbeat();
    this.#cancelDeadline();
    this.#held.clear();
    this.#running.clear();
  }

  #scheduleHeartbeat(passedMs = 0): () => void {
    const waitMs = Math.max(0, heartbeatMs(this.#store.claimTimeoutMs) - passedMs);
    return this.#clock.schedule(waitMs, () => {
      this.#cancelHeartbeat = this.#scheduleHeartbeat();
      void this.#extend();
    });
  }

  #scheduleDeadline(): () => void {
    return this.#clock.schedule(this.#deadlineMs - this.#clock.monotonicMs(), () => this.#loseAll());
  }

  async #extend(): Promise<void> {
    const sentAtMs = this.#clock.monotonicMs();
    const asked = [...this.#held];
    try {
      const kept = new Set(await this.#store.extendClaim(this.#token, asked));
      for (const id of asked)
        if (!kept.has(id)) this.#lose(id, 'another dispatcher took it, or it was requeued');
      const deadlineMs = sentAtMs + this.#store.claimTimeoutMs;
      // An older answer that comes after a newer one says nothing new.
      if (this.#held.size === 0 || deadlineMs <= this.#deadlineMs) return;
      this.#cancelDeadline();
      this.#deadlineMs = deadlineMs;
      this.#cancelDeadline = this.#scheduleDeadline();
    } catch (error) {
      // The next heartbeat tries again; if none succeeds, the deadline says why.
      this.#lastFailure = error;
    }
  }

  #loseAll(): void {
    const why = this.#lastFailure === undefined ? '' : `: ${errorText(this.#lastFailure)}`;
    for (const id of [...this.#held]) this.#lose(id, `it expired and could not be extended${why}`);
  }

  #lose(id: string, why: string): void {
    if (!this.#held.delete(id)) return;
    const running = this.#running.get(id);
    if (!running) return;
    running.held -= 1;
    if (running.held === 0) running.abort(new Error(`the claim on row ${id} was lost: ${why}`));
  }
}
