import { randomBytes } from 'node:crypto';
import type { Clock } from '../runtime/timing.js';
import { workerToken } from '../store/outbox-workers.js';

/** A wall clock that ran ahead of the monotonic one by more: the host was suspended. */
const SUSPENDED_MS = 5_000;

/**
 * One registration of a worker. The right to publish under its claims lasts for `takeoverMs` from the last heartbeat
 * that was answered, counted from before it was sent: at its end, others may take the claims over.
 */
export class Incarnation {
  /** Without letters that a collation could confuse. */
  readonly id = randomBytes(10).toString('hex');
  readonly takeoverMs: number;
  readonly #clock: Clock;
  #counter = 0;
  #deadlineMs = Number.NEGATIVE_INFINITY;
  /** By how much the wall clock was ahead at the last heartbeat. */
  #aheadMs = 0;
  #isLost = false;

  constructor(takeoverMs: number, clock: Clock) {
    this.takeoverMs = takeoverMs;
    this.#clock = clock;
  }

  nextToken(): string {
    this.#counter += 1;
    return workerToken(this.id, this.#counter);
  }

  /** A heartbeat, or the registration, was answered. */
  acknowledged(sentAtMs: number): void {
    this.#deadlineMs = Math.max(this.#deadlineMs, sentAtMs + this.takeoverMs);
    this.#aheadMs = this.#wallAheadMs;
  }

  lose(): void {
    this.#isLost = true;
  }

  get isLost(): boolean {
    return this.#isLost;
  }

  /** How long publishes may be started and go on. */
  get remainingMs(): number {
    if (this.#isLost || this.#wallAheadMs - this.#aheadMs > SUSPENDED_MS) return 0;
    return Math.max(0, this.#deadlineMs - this.#clock.monotonicMs());
  }

  get #wallAheadMs(): number {
    return this.#clock.now() - this.#clock.monotonicMs();
  }
}
