/**
 * The waits after a hint, which itself ends the one before: it may come before the transaction that it tells of has
 * committed, always where that is one of this process, and where enqueues are many it stands for all of the next 25 ms.
 * Hence the short ones, until the next hint is due.
 */
const BURST_MS = [1, 2, 5, 5, 5, 5, 5, 10, 50, 100, 100] as const;
/** However many hints come, this much lies between polls that find nothing, but for the first two. */
const SHORTEST_MS = 2;
/** The first wait after the last row; the next ones double. */
const FIRST_IDLE_MS = 20;

/** When to look for rows next: at once while there are some, in a burst after a hint, and ever less often else. */
export class PollPace {
  readonly #pollIntervalMs: number;
  #burst: number[] = [];
  #idleMs = 0;
  #waitMs = 0;
  /** Polls that found nothing since the last rows, or since a hint ended a pause. */
  #inVain = 0;

  constructor(pollIntervalMs: number) {
    this.#pollIntervalMs = pollIntervalMs;
  }

  /** The wait before the next poll, after one that found rows or none. */
  afterPoll(found: boolean): number {
    this.#inVain = found ? 0 : this.#inVain + 1;
    this.#waitMs = found ? 0 : this.#nextWaitMs();
    if (found) this.#idleMs = 0;
    return this.#waitMs;
  }

  /** Begins a burst. Gives whether to poll now instead of waiting on. */
  hint(): boolean {
    this.#burst = [...BURST_MS];
    this.#idleMs = 0;
    const isPausing = this.#waitMs > SHORTEST_MS;
    if (isPausing) this.#inVain = 0;
    return isPausing;
  }

  #nextWaitMs(): number {
    const burst = this.#burst.shift();
    if (burst !== undefined)
      return Math.min(this.#inVain > 1 ? Math.max(burst, SHORTEST_MS) : burst, this.#pollIntervalMs);
    this.#idleMs = Math.min(Math.max(2 * this.#idleMs, FIRST_IDLE_MS), this.#pollIntervalMs);
    return this.#idleMs;
  }
}
