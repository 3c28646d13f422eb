import type { Clock } from '@postcommit/core';

/** A request that waits this long for its response counts as a sign that the database is not responding. */
export const UNRESPONSIVE_AFTER_MS = 1_000;

/** Watches requests to tell whether the database responds at present. */
export class ResponseMonitor {
  readonly #clock: Clock;
  /** Oldest first. */
  readonly #pending = new Set<{ readonly sentAtMs: number }>();
  #lastFailed = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** False while a request is overdue, and after one that failed until the next one succeeds. */
  get isResponding(): boolean {
    const [oldest] = this.#pending;
    const isLate =
      oldest !== undefined && this.#clock.monotonicMs() - oldest.sentAtMs >= UNRESPONSIVE_AFTER_MS;
    return !(isLate || this.#lastFailed);
  }

  /** Returns what `response` resolves or rejects with. */
  async watch<T>(response: Promise<T>): Promise<T> {
    const request = { sentAtMs: this.#clock.monotonicMs() };
    this.#pending.add(request);
    try {
      const result = await response;
      this.#lastFailed = false;
      return result;
    } catch (error) {
      this.#lastFailed = true;
      throw error;
    } finally {
      this.#pending.delete(request);
    }
  }
}
