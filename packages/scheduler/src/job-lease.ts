import { type Clock, errorText, type HeldLock } from '@postcommit/core';

/** Renewed every third of its TTL, so that two renewals may fail before the lock is lost. */
const RENEWALS_PER_TTL = 3;

export interface JobLeaseOptions {
  readonly ttlMs: number;
  /** The time just before the lock was requested, so that our deadline always passes before the database's. */
  readonly sentAtMs: number;
  readonly clock: Clock;
  readonly onLost: (error: Error) => void;
}

/** Renews a lock while its job runs, and calls `onLost` when the lock is lost. */
export class JobLease {
  readonly #held: HeldLock;
  readonly #options: JobLeaseOptions;
  #isOver = false;
  #deadlineMs: number;
  #lastFailure: unknown;
  #renewing: Promise<void> = Promise.resolve();
  #cancelRenewal: () => void;
  #cancelDeadline: () => void;

  constructor(held: HeldLock, options: JobLeaseOptions) {
    this.#held = held;
    this.#options = options;
    this.#deadlineMs = options.sentAtMs + options.ttlMs;
    this.#cancelRenewal = this.#scheduleRenewal();
    this.#cancelDeadline = this.#scheduleDeadline();
  }

  /** Stops renewing; the lock is held for another `holdMs`. */
  async keepFor(holdMs: number): Promise<void> {
    if (this.#isOver) return;
    this.#cancelTimers();
    // A renewal in flight that arrived later would undo this one.
    await this.#renewing;
    if (this.#isOver) return;
    this.#isOver = true;
    try {
      if (await this.#held.renew(holdMs)) return;
    } catch (error) {
      this.#options.onLost(lost(`the last renewal failed: ${errorText(error)}`, error));
      return;
    }
    this.#options.onLost(lost('another instance took it'));
  }

  /** Only stops renewing; the lock expires by itself. */
  abandon(): void {
    this.#isOver = true;
    this.#cancelTimers();
  }

  #scheduleRenewal(): () => void {
    const { clock, ttlMs } = this.#options;
    return clock.schedule(ttlMs / RENEWALS_PER_TTL, () => {
      this.#cancelRenewal = this.#scheduleRenewal();
      this.#renewing = Promise.all([this.#renewing, this.#renew()]).then(() => {});
    });
  }

  #scheduleDeadline(): () => void {
    const { clock } = this.#options;
    return clock.schedule(this.#deadlineMs - clock.monotonicMs(), () => this.#expire());
  }

  async #renew(): Promise<void> {
    const sentAtMs = this.#options.clock.monotonicMs();
    try {
      const isOurs = await this.#held.renew(this.#options.ttlMs);
      if (this.#isOver) return;
      if (isOurs) this.#extend(sentAtMs + this.#options.ttlMs);
      else this.#lose(lost('another instance took it'));
    } catch (error) {
      // The next renewal tries again. If none succeeds, the expiry reports this error.
      this.#lastFailure = error;
    }
  }

  #extend(deadlineMs: number): void {
    // An older answer may arrive after a newer one.
    if (deadlineMs <= this.#deadlineMs) return;
    this.#cancelDeadline();
    this.#deadlineMs = deadlineMs;
    this.#cancelDeadline = this.#scheduleDeadline();
  }

  #expire(): void {
    const why = this.#lastFailure === undefined ? '' : `: ${errorText(this.#lastFailure)}`;
    this.#lose(lost(`it expired and could not be renewed${why}`, this.#lastFailure));
  }

  #lose(error: Error): void {
    if (this.#isOver) return;
    this.abandon();
    this.#options.onLost(error);
  }

  #cancelTimers(): void {
    this.#cancelRenewal();
    this.#cancelDeadline();
  }
}

function lost(why: string, cause?: unknown): Error {
  return new Error(`the lock was lost: ${why}`, { cause });
}
