import type { Clock } from '@postcommit/core';
import { atMost } from '../at-most.js';

/**
 * Limits a busy process to 40 notifications a second, because commits that notify wait for each other. Short enough to
 * add no noticeable latency in a burst: with 100 ms, messages sent every 50 ms were published 19 ms after their commit
 * instead of 6 ms.
 */
export const NOTIFY_WINDOW_MS = 25;

/** Stopping waits no longer than this for a hint. */
const FLUSH_MS = 1_000;

/**
 * Decides which enqueues notify. The first one after a quiet period does. Those that follow within the window don't; one
 * trailing notification at its end covers them all and opens the next window. So a long burst sends only trailing
 * notifications, none of them in the caller's transaction.
 */
export class NotifyDebounce {
  readonly #send: () => Promise<unknown>;
  readonly #clock: Clock;
  #windowEndMs = Number.NEGATIVE_INFINITY;
  #isPending = false;
  #cancelTrailing: (() => void) | undefined;
  #sending: Promise<void> | undefined;

  constructor(send: () => Promise<unknown>, clock: Clock) {
    this.#send = send;
    this.#clock = clock;
  }

  /** Returns whether this enqueue should notify. If not, a trailing notification follows. */
  admit(): boolean {
    if (this.#isQuiet()) {
      this.#openWindow();
      return true;
    }
    this.#isPending = true;
    this.#awaitWindowEnd();
    return false;
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

  #isQuiet(): boolean {
    const isWaiting = this.#cancelTrailing !== undefined || this.#sending !== undefined;
    return !isWaiting && this.#clock.monotonicMs() >= this.#windowEndMs;
  }

  #openWindow(): void {
    this.#windowEndMs = this.#clock.monotonicMs() + NOTIFY_WINDOW_MS;
  }

  #awaitWindowEnd(): void {
    // Send one at a time: on a slow database they would pile up.
    if (!this.#isPending || this.#cancelTrailing || this.#sending !== undefined) return;
    const restMs = Math.max(0, this.#windowEndMs - this.#clock.monotonicMs());
    this.#cancelTrailing = this.#clock.schedule(restMs, () => {
      this.#cancelTrailing = undefined;
      this.#sendTrailing();
    });
  }

  #sendTrailing(): void {
    this.#isPending = false;
    const ended = (): void => {
      this.#sending = undefined;
      this.#openWindow();
      this.#awaitWindowEnd();
    };
    // Errors are ignored on purpose: this is only a hint, the rows are stored, and polling finds them.
    this.#sending = this.#send().then(ended, ended);
  }
}
