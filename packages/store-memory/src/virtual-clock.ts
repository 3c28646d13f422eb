import { setImmediate } from 'node:timers/promises';
import type { Clock } from '@postcommit/core';

interface Timer {
  readonly dueMs: number;
  readonly callback: () => void;
}

/**
 * A clock that stands still until a test moves it. Hand the same one to the store and to the dispatcher, and
 * retries, claims and time-outs happen in no time, in the same order in every run.
 */
export class VirtualClock implements Clock {
  readonly #startMs: number;
  readonly #timers = new Set<Timer>();
  #nowMs: number;

  constructor(start: Date = new Date('2026-01-01T00:00:00Z')) {
    this.#startMs = start.getTime();
    this.#nowMs = this.#startMs;
  }

  /** Milliseconds since 1970: the memory store's database time. */
  now(): number {
    return this.#nowMs;
  }

  monotonicMs(): number {
    return this.#nowMs - this.#startMs;
  }

  schedule(delayMs: number, callback: () => void): () => void {
    const timer = { dueMs: this.#nowMs + Math.max(0, delayMs), callback };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  /** Moves time, runs the timers that fall due on the way, in order, and lets what they started go on. */
  async advance(ms: number): Promise<void> {
    const untilMs = this.#nowMs + ms;
    await setImmediate();
    for (let timer = this.#nextDue(untilMs); timer; timer = this.#nextDue(untilMs)) {
      this.#timers.delete(timer);
      this.#nowMs = Math.max(this.#nowMs, timer.dueMs);
      timer.callback();
      await setImmediate();
    }
    this.#nowMs = untilMs;
  }

  #nextDue(untilMs: number): Timer | undefined {
    let next: Timer | undefined;
    for (const timer of this.#timers) {
      if (timer.dueMs <= untilMs && (!next || timer.dueMs < next.dueMs)) next = timer;
    }
    return next;
  }
}
