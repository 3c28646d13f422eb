import { setImmediate } from 'node:timers/promises';
import type { Clock } from '@postcommit/core';

interface Timer {
  readonly dueMs: number;
  readonly callback: () => void;
}

/**
 * A clock that stands still until a test advances it. Share it between the store and the dispatcher: retries, expired
 * claims and timeouts then take no real time, and happen in the same order in every run.
 */
export class VirtualClock implements Clock {
  readonly #startMs: number;
  readonly #timers = new Set<Timer>();
  #nowMs: number;

  constructor(start: Date = new Date('2026-01-01T00:00:00Z')) {
    this.#startMs = start.getTime();
    this.#nowMs = this.#startMs;
  }

  /** Milliseconds since 1970. The memory store uses it as the database's time. */
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

  /** Advances time. Runs the timers that fall due, in order, and lets the work they start proceed after each. */
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
