import type { Clock } from '@postcommit/core';
import { atMost } from '../at-most.js';

/**
 * Long enough that a busy process notifies forty times a second, whatever it enqueues: commits that notify wait for
 * each other. Short enough that a message of a burst is late by less than a network notices. With 100 ms, a message
 * each 50 ms was published 19 ms after its commit instead of 6.
 */
export const NOTIFY_WINDOW_MS = 25;

/** A stop does not wait longer than this for a hint. */
const FLUSH_MS = 1_000;

/**
 * Which enqueues notify: the first after a quiet moment does, those that follow within the window don't, and one
 * trailing notification is sent for all of them at its end. That begins the next window, so that a burst that goes
 * on is told of by trailing ones alone, none of them in a transaction of the caller.
 */
export class NotifyDebounce {
  readonly #send: () => Promise<unknown>;
  readonly #clock: Clock;
  #windowEndMs = Number.NEGATIVE_INFINITY;
  #isOwed = false;
  #cancelTrailing: (() => void) | undefined;
  #sending: Promise<void> | undefined;

  constructor(send: () => Promise<unknown>, clock: Clock) {
    this.#send = send;
    this.#clock = clock;
  }

  /** True: this enqueue is to notify. False: a trailing notification will come after it. */
  admit(): boolean {
    if (this.#isQuiet()) {
      this.#openWindow();
      return true;
    }
    this.#isOwed = true;
    this.#awaitWindowEnd();
    return false;
  }

  /** Sends now what is owed. Afterwards no timer remains. */
  async flush(): Promise<void> {
    await atMost(FLUSH_MS, this.#drain(), this.#clock);
  }

  async #drain(): Promise<void> {
    await this.#sending;
    this.#cancelTrailing?.();
    this.#cancelTrailing = undefined;
    if (this.#isOwed) this.#sendTrailing();
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
    // While one is being sent, the next waits: on a slow database they would pile up.
    if (!this.#isOwed || this.#cancelTrailing || this.#sending !== undefined) return;
    const restMs = Math.max(0, this.#windowEndMs - this.#clock.monotonicMs());
    this.#cancelTrailing = this.#clock.schedule(restMs, () => {
      this.#cancelTrailing = undefined;
      this.#sendTrailing();
    });
  }

  #sendTrailing(): void {
    this.#isOwed = false;
    const ended = (): void => {
      this.#sending = undefined;
      this.#openWindow();
      this.#awaitWindowEnd();
    };
    // An error is dropped on purpose: it is only a hint, the rows are stored, and polling finds them.
    this.#sending = this.#send().then(ended, ended);
  }
}
