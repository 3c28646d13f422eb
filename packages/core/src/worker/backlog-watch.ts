import type { Clock } from '../modules/clock.js';
import type { DispatchEvents } from '../observe/dispatch-events.js';
import type { OutboxStore } from '../store/outbox-store.js';

/** How often the backlog is looked at. */
const INTERVAL_MS = 15_000;

/** Tells `backlog` when too much waits: once, and again only after it has been less. */
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
    this.#cancel = this.#clock.schedule(INTERVAL_MS, () => {
      this.start();
      void this.#look();
    });
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }

  async #look(): Promise<void> {
    try {
      const backlog = await this.#store.backlog(this.#threshold);
      const wasOver = this.#isOver;
      // What is scheduled for later is no backlog.
      this.#isOver = backlog.due >= this.#threshold;
      if (this.#isOver && !wasOver) this.#events.emit('backlog', { ...backlog, threshold: this.#threshold });
    } catch {
      // A store that can't be reached is the worker's to tell; the next look comes by itself.
    }
  }
}
