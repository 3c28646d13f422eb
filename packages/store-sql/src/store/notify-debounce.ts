import type { Clock } from '@postcommit/core';
import { atMost } from '../at-most.js';

/**
 * In a storm, limits a process to 40 notifications a second. Short enough to add no noticeable latency: with 100 ms,
 * messages sent every 50 ms were published 19 ms after their commit instead of 6 ms.
 */
export const NOTIFY_WINDOW_MS = 25;
/** From an enqueue that was refused to the notification that covers it: it has most likely committed by then. */
export const REFUSED_MS = 5;
/** This many refusals in a row are a storm. One alone happens at ordinary rates. */
const STORM = 2;
/**
 * In a storm of many processes, each of which enqueues little, a notification waits for this many enqueues, or this long:
 * otherwise it would be a statement for each. Meanwhile those that are not refused keep the workers awake.
 */
export const SHARED_BY = 10;
export const LONGEST_WINDOW_MS = 200;
/** After this many refusals in a row nobody else notifies either: transactions that stay open are in the way. */
export const BLOCKED = 30;

/** Stopping waits no longer than this for a hint. */
const FLUSH_MS = 1_000;

/**
 * Decides which enqueues notify. At ordinary rates each does, when it commits. The database refuses those for which too
 * many transactions, of all processes, are about to notify; one trailing notification covers the refused ones. After
 * refusals in a row, one enqueue tries after each trailing notification, and the others don't.
 */
export class NotifyDebounce {
  readonly #send: () => Promise<unknown>;
  readonly #clock: Clock;
  /** In a row. */
  #refusals = 0;
  #mayTry = false;
  /** Enqueues since the last trailing notification that it did not cover. */
  #owed = 0;
  #sentAtMs = Number.NEGATIVE_INFINITY;
  #cancelTrailing: (() => void) | undefined;
  #sending: Promise<void> | undefined;

  constructor(send: () => Promise<unknown>, clock: Clock) {
    this.#send = send;
    this.#clock = clock;
  }

  /** Returns whether this enqueue should try to notify, and then report to `answered`. If not, a trailing one follows. */
  admit(): boolean {
    if (!this.#isStorm) return true;
    if (!this.#mayTry) this.#owe();
    const mayTry = this.#mayTry;
    this.#mayTry = false;
    return mayTry;
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
    this.#cancelWait();
    if (this.#owed > 0) this.#sendTrailing();
    await this.#sending;
  }

  get #isStorm(): boolean {
    return this.#refusals >= STORM;
  }

  #owe(): void {
    this.#owed += 1;
    // The wait may be over earlier than it seemed.
    if (this.#owed === SHARED_BY) this.#cancelWait();
    this.#awaitWindowEnd();
  }

  #awaitWindowEnd(): void {
    // Send one at a time: on a slow database they would pile up.
    if (this.#owed === 0 || this.#cancelTrailing || this.#sending !== undefined) return;
    const restMs = Math.max(REFUSED_MS, this.#sentAtMs + this.#windowMs - this.#clock.monotonicMs());
    this.#cancelTrailing = this.#clock.schedule(restMs, () => {
      this.#cancelTrailing = undefined;
      this.#sendTrailing();
    });
  }

  get #windowMs(): number {
    const isShared = this.#isStorm && this.#refusals < BLOCKED && this.#owed < SHARED_BY;
    return isShared ? LONGEST_WINDOW_MS : NOTIFY_WINDOW_MS;
  }

  #cancelWait(): void {
    this.#cancelTrailing?.();
    this.#cancelTrailing = undefined;
  }

  #sendTrailing(): void {
    this.#owed = 0;
    const ended = (): void => {
      this.#sending = undefined;
      this.#sentAtMs = this.#clock.monotonicMs();
      this.#mayTry = true;
      this.#awaitWindowEnd();
    };
    // Errors are ignored on purpose: this is only a hint, the rows are stored, and polling finds them.
    this.#sending = this.#send().then(ended, ended);
  }
}
