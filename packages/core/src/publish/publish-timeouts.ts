import type { Clock } from '../modules/clock.js';

/** A publish that runs. */
export interface RunningPublish {
  readonly dueMs: number;
  readonly giveUp: () => void;
}

/**
 * Bounds the publishes of one batch in time, with one timer for all of them: they have the same time-out, so the
 * one that started first is due first. Setting and clearing a timer for each took about a fifth of the dispatcher's
 * own time in a profile.
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

  /** The batch is over: no timer remains. */
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
