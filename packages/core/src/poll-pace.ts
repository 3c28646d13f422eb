/**
 * The waits after a hint: it may come before the transaction that it tells of has committed, and where enqueues are
 * many it stands for all of the next 25 ms. Hence the short ones, until the next hint is due.
 */
const BURST_MS = [0, 2, 5, 5, 5, 5, 5, 10, 50, 100, 100] as const;
/** However many hints come, this much lies between two polls that find nothing. */
const SHORTEST_MS = BURST_MS[1];
/** The first wait after the last row; the next ones double. */
const FIRST_IDLE_MS = 20;

/** When to look for rows next: at once while there are some, in a burst after a hint, and ever less often else. */
export class PollPace {
  readonly #pollIntervalMs: number;
  #burst: number[] = [];
  #idleMs = 0;
  #waitMs = 0;

  constructor(pollIntervalMs: number) {
    this.#pollIntervalMs = pollIntervalMs;
  }

  /** The wait before the next poll, after one that found rows or none. */
  afterPoll(found: boolean): number {
    this.#waitMs = found ? 0 : this.#nextWaitMs();
    if (found) this.#idleMs = 0;
    return this.#waitMs;
  }

  /** Begins a burst. Gives whether to poll now instead of waiting on. */
  hint(): boolean {
    this.#burst = BURST_MS.slice(1);
    this.#idleMs = 0;
    return this.#waitMs > SHORTEST_MS;
  }

  #nextWaitMs(): number {
    const burst = this.#burst.shift();
    if (burst !== undefined) return Math.min(burst, this.#pollIntervalMs);
    this.#idleMs = Math.min(Math.max(2 * this.#idleMs, FIRST_IDLE_MS), this.#pollIntervalMs);
    return this.#idleMs;
  }
}
