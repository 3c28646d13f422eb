import { errorText } from '../message/error-text.js';
import type { Clock } from '../modules/clock.js';
import type { OutboxStore } from '../store/outbox-store.js';
import { heartbeatMs } from './outbox-config.js';
import type { RowInFlight } from './row-in-flight.js';

/**
 * Keeps the claim of one batch alive while its rows are published, and aborts publishes whose claim is lost. The
 * deadline runs on the process's own clock from before the claim was sent, so it always passes before the database's.
 */
export class ClaimLease {
  readonly #store: OutboxStore;
  readonly #token: string;
  readonly #rows: readonly RowInFlight[];
  readonly #clock: Clock;
  #deadlineMs: number;
  #lastFailure: unknown;
  #cancelHeartbeat: () => void;
  #cancelDeadline: () => void;

  constructor(
    store: OutboxStore,
    token: string,
    rows: readonly RowInFlight[],
    sentAtMs: number,
    clock: Clock,
  ) {
    this.#store = store;
    this.#token = token;
    this.#rows = rows;
    this.#clock = clock;
    this.#deadlineMs = sentAtMs + store.claimTimeoutMs;
    // Counted from the sending too: a claim that was answered late would run out before its first heartbeat.
    this.#cancelHeartbeat = this.#scheduleHeartbeat(clock.monotonicMs() - sentAtMs);
    this.#cancelDeadline = this.#scheduleDeadline();
  }

  /** Whether a publish of this row may start now. */
  holds({ isHeld }: RowInFlight): boolean {
    return isHeld && this.#clock.monotonicMs() < this.#deadlineMs;
  }

  /** Calls `abort` if the claims on all these rows are lost before `publishEnded`. */
  publishStarted(rows: readonly RowInFlight[], abort: (reason: Error) => void): void {
    const call = { abort, held: rows.length };
    for (const flight of rows) flight.call = call;
  }

  publishEnded(rows: readonly RowInFlight[]): void {
    for (const flight of rows) flight.call = undefined;
  }

  /** Aborts every publish that is running. */
  abortAll(reason: Error): void {
    const calls = new Set(this.#rows.map(({ call }) => call));
    for (const call of calls) call?.abort(reason);
  }

  /** Stops extending the claims on these rows: they are released or settled. */
  drop(rows: readonly RowInFlight[]): void {
    for (const flight of rows) flight.isHeld = false;
  }

  /** How long the claim still lives, by the process's own clock. */
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
    this.drop(this.#rows);
    this.publishEnded(this.#rows);
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
    const asked = this.#rows.filter(({ isHeld }) => isHeld);
    try {
      const kept = new Set(
        await this.#store.extendClaim(
          this.#token,
          asked.map(({ id }) => id),
        ),
      );
      for (const flight of asked)
        if (!kept.has(flight.id)) this.#lose(flight, 'another dispatcher took it, or it was requeued');
      const deadlineMs = sentAtMs + this.#store.claimTimeoutMs;
      // An older answer that arrives after a newer one says nothing new.
      if (deadlineMs <= this.#deadlineMs || !this.#rows.some(({ isHeld }) => isHeld)) return;
      this.#cancelDeadline();
      this.#deadlineMs = deadlineMs;
      this.#cancelDeadline = this.#scheduleDeadline();
    } catch (error) {
      // The next heartbeat tries again; if none succeeds, the deadline reports this error.
      this.#lastFailure = error;
    }
  }

  #loseAll(): void {
    const why = this.#lastFailure === undefined ? '' : `: ${errorText(this.#lastFailure)}`;
    for (const flight of this.#rows) this.#lose(flight, `it expired and could not be extended${why}`);
  }

  #lose(flight: RowInFlight, why: string): void {
    if (!flight.isHeld) return;
    flight.isHeld = false;
    const { call } = flight;
    if (!call) return;
    call.held -= 1;
    if (call.held === 0) call.abort(new Error(`the claim on row ${flight.id} was lost: ${why}`));
  }
}
