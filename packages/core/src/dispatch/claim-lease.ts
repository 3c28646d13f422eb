import { errorText } from '../message/error-text.js';
import type { Clock } from '../modules/clock.js';
import type { OutboxStore } from '../store/outbox-store.js';
import { heartbeatMs } from './outbox-config.js';
import type { RowInFlight } from './row-in-flight.js';

/**
 * Extends the claim of one batch while its rows are published, and aborts publishes whose claim is lost. The deadline
 * counts on the process's own clock from before the claim was sent, so it always passes before the database's does.
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
    // Also counted from sending: a claim that was answered late could otherwise expire before its first heartbeat.
    this.#cancelHeartbeat = this.#scheduleHeartbeat(clock.monotonicMs() - sentAtMs);
    this.#cancelDeadline = this.#scheduleDeadline();
  }

  /** Whether this row may be published now. */
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

  /** Aborts every running publish. */
  abortAll(reason: Error): void {
    const calls = new Set(this.#rows.map(({ call }) => call));
    for (const call of calls) call?.abort(reason);
  }

  /** Stops extending the claims on these rows, which are released or settled. */
  drop(rows: readonly RowInFlight[]): void {
    for (const flight of rows) flight.isHeld = false;
  }

  /** Time until the claim expires, by the process's own clock. */
  get remainingMs(): number {
    return this.#deadlineMs - this.#clock.monotonicMs();
  }

  /** Lets the claim expire. */
  stopExtending(): void {
    this.#cancelHeartbeat();
  }

  end(): void {
    this.#cancelHeartbeat();
    this.#cancelDeadline();
    this.drop(this.#rows);
    this.publishEnded(this.#rows);
  }

  #scheduleHeartbeat(elapsedMs = 0): () => void {
    const waitMs = Math.max(0, heartbeatMs(this.#store.claimTimeoutMs) - elapsedMs);
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
      // A late answer must not move the deadline back.
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
