import type { DispatchEvents } from '../observe/dispatch-events.js';
import type { Clock } from '../runtime/timing.js';

const CHECK_INTERVAL_MS = 500;
/** Shorter pauses, such as those of garbage collection, delay rows but endanger no claim. */
const LONGEST_PAUSE_MS = 1_000;

/** Emits `eventLoopBlocked` when a timer fires more than a second late: nothing else ran in this process meanwhile. */
export class EventLoopWatch {
  readonly #events: DispatchEvents;
  readonly #clock: Clock;
  #cancel: (() => void) | undefined;

  constructor(events: DispatchEvents, clock: Clock) {
    this.#events = events;
    this.#clock = clock;
  }

  start(): void {
    const dueAtMs = this.#clock.monotonicMs() + CHECK_INTERVAL_MS;
    this.#cancel = this.#clock.schedule(CHECK_INTERVAL_MS, () => {
      const ms = Math.round(this.#clock.monotonicMs() - dueAtMs);
      this.start();
      if (ms > LONGEST_PAUSE_MS) this.#events.emit('eventLoopBlocked', { ms });
    });
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }
}
