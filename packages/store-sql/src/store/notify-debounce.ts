import type { Clock } from '@postcommit/core';
import { atMost } from '../at-most.js';

/**
 * In a storm, limits a process to 40 notifications a second. Short enough to add no noticeable latency: with 100 ms,
 * messages sent every 50 ms were published 19 ms after their commit instead of 6 ms.
 */
export const NOTIFY_WINDOW_MS = 25;
/** From an enqueue that was refused to the notification that covers it: it has most likely committed by then. */
export const REFUSED_MS = 5;
/** So many refusals in a row are a storm. One alone happens at ordinary rates. */
const STORM = 2;

/** Stopping waits no longer than this for a hint. */
const FLUSH_MS = 1_000;

/**
 * Decides which enqueues notify. At ordinary rates each does, when it commits. The database refuses those for which too
 * many transactions, of all processes, are about to notify; one trailing notification covers the refused ones. After
 * refusals in a row, enqueues don't even try until the next trailing notification has been sent: in a storm a process
 * sends little more than one of these in each window.
 */
export class NotifyDebounce {
  readonly #send: () => Promise<unknown>;
  readonly #clock: Clock;
  #refusals = 0;
  #windowEndMs = Number.NEGATIVE_INFINITY;
  #isPending = false;
  #cancelTrailing: (() => void) | undefined;
  #sending: Promise<void> | undefined;

  constructor(send: () => Promise<unknown>, clock: Clock) {
    this.#send = send;
    this.#clock = clock;
  }

  /** Returns whether this enqueue should try to notify, and then report to `answered`. If not, a trailing one follows. */
  admit(): boolean {
    if (this.#refusals < STORM) return true;
    this.#owe();
    return false;
  }

  /** Whether an enqueue notifies at its commit. If not, a trailing notification follows. */
  answered({ isNotifying }: { isNotifying: boolean }): void {
    this.#refusals = isNotifying ? 0 : this.#refusals + 1;
    if (!isNotifying) this.#owe();
  }

  /** Sends the pending notification, if any, and leaves no timer behind. */
  async flush(): Promise<void> {
    await atMost(FLUSH_MS, this.#drain(), this.#clock);
  }

  async #drain(): Promise<void> {
    await this.#sending;
    this.#cancelTrailing?.();
    this.#cancelTrailing = undefined;
    if (this.#isPending) this.#sendTrailing();
    await this.#sending;
  }

  #owe(): void {
    this.#isPending = true;
    this.#awaitWindowEnd();
  }

  #awaitWindowEnd(): void {
    // Send one at a time: on a slow database they would pile up.
    if (!this.#isPending || this.#cancelTrailing || this.#sending !== undefined) return;
    const restMs = Math.max(REFUSED_MS, this.#windowEndMs - this.#clock.monotonicMs());
    this.#cancelTrailing = this.#clock.schedule(restMs, () => {
      this.#cancelTrailing = undefined;
      this.#sendTrailing();
    });
  }

  #sendTrailing(): void {
    this.#isPending = false;
    const ended = (): void => {
      this.#sending = undefined;
      this.#windowEndMs = this.#clock.monotonicMs() + NOTIFY_WINDOW_MS;
      // The next enqueue tries; one more refusal continues the storm.
      this.#refusals = Math.min(this.#refusals, STORM - 1);
      this.#awaitWindowEnd();
    };
    // Errors are ignored on purpose: this is only a hint, the rows are stored, and polling finds them.
    this.#sending = this.#send().then(ended, ended);
  }
}
