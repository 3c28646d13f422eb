import type { Clock } from '../runtime/timing.js';

/** What is known of the pauses is asked for again after this time, if it is needed. */
const FRESH_MS = 1_000;

/** The topics that are paused in all processes, as this one last heard. */
export class PausedTopics {
  readonly #ask: () => Promise<unknown>;
  readonly #clock: Clock;
  #topics: ReadonlySet<string> = new Set();
  #knownSinceMs = Number.NEGATIVE_INFINITY;
  #isAsking = false;

  /** `ask` ends in a call of `are`. */
  constructor(ask: () => Promise<unknown>, clock: Clock) {
    this.#ask = ask;
    this.#clock = clock;
  }

  get isKnown(): boolean {
    return this.#knownSinceMs !== Number.NEGATIVE_INFINITY;
  }

  get isFresh(): boolean {
    return this.#clock.monotonicMs() - this.#knownSinceMs < FRESH_MS;
  }

  get list(): string[] {
    return [...this.#topics];
  }

  are(topics: readonly string[]): void {
    this.#topics = new Set(topics);
    this.#knownSinceMs = this.#clock.monotonicMs();
  }

  /** Also asks again now and then: a worker that publishes a slow batch would not hear of a pause for long. */
  has(topic: string): boolean {
    if (!this.isFresh) this.#refresh();
    return this.#topics.has(topic);
  }

  #refresh(): void {
    if (this.#isAsking) return;
    this.#isAsking = true;
    this.#ask()
      // The next row asks again. Whether the store answers is the claims' and settles' business.
      .catch(() => {})
      .finally(() => {
        this.#isAsking = false;
      });
  }
}
