import type { Clock } from '../modules/clock.js';

export interface RunningPublish {
  readonly dueMs: number;
  readonly giveUp: () => void;
}

/**
 * Times out the publishes of one batch. They share one timer, because they have the same timeout and the one that
 * started first is due first. A timer for each would take about a fifth of the dispatcher's own time.
 */
export class PublishTimeouts {
  readonly #clock: Clock;
  readonly timeoutMs: number;
  readonly #running = new Set<RunningPublish>();
  #cancelTimer: (() => void) | undefined;

  constructor(clock: Clock, timeoutMs: number) {
    this.#clock = clock;
    this.timeoutMs = timeoutMs;
  }

  start(giveUp: () => void): RunningPublish {
    const publish = { dueMs: this.#clock.monotonicMs() + this.timeoutMs, giveUp };
    this.#running.add(publish);
    this.#cancelTimer ??= this.#clock.schedule(this.timeoutMs, () => this.#check());
    return publish;
  }

  end(publish: RunningPublish): void {
    this.#running.delete(publish);
  }

  /** Call it at the end of the batch. No timer remains. */
  stop(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
  }

  #check(): void {
    this.#cancelTimer = undefined;
    const nowMs = this.#clock.monotonicMs();
    for (const publish of this.#running) {
      if (publish.dueMs > nowMs) {
        this.#cancelTimer = this.#clock.schedule(publish.dueMs - nowMs, () => this.#check());
        return;
      }
      this.#running.delete(publish);
      publish.giveUp();
    }
  }
}
