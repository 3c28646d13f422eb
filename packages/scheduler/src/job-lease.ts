import type { Clock } from '@postcommit/core';
import { errorText, type HeldLock, Lease } from '@postcommit/core/internal';

export interface JobLeaseOptions {
  readonly ttlMs: number;
  /** The time just before the lock was requested. */
  readonly sentAtMs: number;
  readonly clock: Clock;
  readonly onLost: (error: Error) => void;
}

/** Renews a lock while its job runs, and calls `onLost` when the lock is lost. */
export class JobLease {
  readonly #held: HeldLock;
  readonly #onLost: (error: Error) => void;
  readonly #lease: Lease;
  #isOver = false;

  constructor(held: HeldLock, { ttlMs, sentAtMs, clock, onLost }: JobLeaseOptions) {
    this.#held = held;
    this.#onLost = onLost;
    this.#lease = new Lease({
      ttlMs,
      sentAtMs,
      clock,
      renew: () => this.#renew(ttlMs),
      onExpired: (why, cause) => this.#lose(lost(`it expired and could not be renewed${why}`, cause)),
    });
  }

  /** Stops renewing; the lock is held for another `holdMs`. */
  async keepFor(holdMs: number): Promise<void> {
    if (this.#isOver) return;
    // A renewal in flight that arrived later would undo this one.
    await this.#lease.stopRenewing();
    if (this.#isOver) return;
    this.abandon();
    try {
      if (await this.#held.renew(holdMs)) return;
    } catch (error) {
      this.#onLost(lost(`the last renewal failed: ${errorText(error)}`, error));
      return;
    }
    this.#onLost(lost('another instance took it'));
  }

  /** Only stops renewing; the lock expires by itself. */
  abandon(): void {
    this.#isOver = true;
    this.#lease.end();
  }

  async #renew(ttlMs: number): Promise<boolean> {
    const isOurs = await this.#held.renew(ttlMs);
    if (!isOurs) this.#lose(lost('another instance took it'));
    return isOurs;
  }

  #lose(error: Error): void {
    if (this.#isOver) return;
    this.abandon();
    this.#onLost(error);
  }
}

function lost(why: string, cause?: unknown): Error {
  return new Error(`the lock was lost: ${why}`, { cause });
}
