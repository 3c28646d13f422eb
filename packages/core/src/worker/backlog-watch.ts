import type { DispatchEvents } from '../observe/dispatch-events.js';
import type { Clock } from '../runtime/timing.js';
import type { OutboxStore } from '../store/outbox-store.js';

const CHECK_INTERVAL_MS = 15_000;

/** Emits `backlog` when `threshold` rows are due: once, and again only after there were fewer. */
export class BacklogWatch {
  readonly #store: OutboxStore;
  readonly #events: DispatchEvents;
  readonly #clock: Clock;
  readonly #threshold: number;
  #isOver = false;
  #cancel: (() => void) | undefined;

  constructor(store: OutboxStore, events: DispatchEvents, clock: Clock, threshold: number) {
    this.#store = store;
    this.#events = events;
    this.#clock = clock;
    this.#threshold = threshold;
  }

  start(): void {
    this.#cancel = this.#clock.schedule(CHECK_INTERVAL_MS, () => {
      this.start();
      void this.#check();
    });
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }

  async #check(): Promise<void> {
    try {
      const backlog = await this.#store.backlog(this.#threshold);
      const wasOver = this.#isOver;
      // Rows scheduled for later are not backlog.
      this.#isOver = backlog.due >= this.#threshold;
      if (this.#isOver && !wasOver) this.#events.emit('backlog', { ...backlog, threshold: this.#threshold });
    } catch {
      // The worker reports a store that can't be reached. The next check is already scheduled.
    }
  }
}
