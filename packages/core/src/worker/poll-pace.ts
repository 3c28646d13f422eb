/** Less than this lies between two polls only right after a pause, and while there may be more rows to claim. */
const SHORTEST_MS = 2;
/**
 * The first waits of a burst. A hint of this process comes before its COMMIT, which takes about as long as one poll or
 * two; one of another process comes after it, and is followed by another poll in case that others were quicker.
 */
const QUICK_MS = { 'before-commit': [0, 0, 1], 'after-commit': [1] } as const;
/** The others: where enqueues are many, a hint stands for all of the next 25 ms, and transactions may take their time. */
const BURST_MS = [2, 3, 3, 3, 3, 3, 3, 3, 3, 10, 50, 100, 100] as const;
/** The first wait after the last row; the next ones double. */
const FIRST_IDLE_MS = 20;

/** What a poll brought: nothing, all that was due, or rows beside which more may be due. */
export type PollResult = 'nothing' | 'all' | 'more';
/** Whether a hint comes before or after the COMMIT that it tells of. */
export type HintTime = keyof typeof QUICK_MS;

/** When to look for rows next: at once while there may be more, in a burst after a hint, and ever less often else. */
export class PollPace {
  readonly #pollIntervalMs: number;
  #burst: number[] = [];
  #idleMs = 0;
  #waitMs = 0;
  #isStalled = false;

  constructor(pollIntervalMs: number) {
    this.#pollIntervalMs = pollIntervalMs;
  }

  /** While batches end without progress, looking again at full speed would only repeat that. */
  batchEnded({ madeProgress }: { madeProgress: boolean }): void {
    this.#isStalled = !madeProgress;
  }

  /** The wait before the next poll. */
  afterPoll(found: PollResult): number {
    const result = this.#isStalled ? 'nothing' : found;
    if (result !== 'nothing') {
      this.#idleMs = 0;
      // What the quick ones were for has come.
      this.#burst = this.#burst.filter((ms) => ms >= SHORTEST_MS);
    }
    this.#waitMs = result === 'more' ? 0 : this.#nextWaitMs();
    return this.#waitMs;
  }

  /** Begins a burst. Gives whether to poll now instead of waiting on. */
  hint(time: HintTime): boolean {
    const isPausing = this.#waitMs > SHORTEST_MS;
    this.#burst = isPausing ? [...QUICK_MS[time], ...BURST_MS] : [...BURST_MS];
    this.#idleMs = 0;
    return isPausing;
  }

  #nextWaitMs(): number {
    const burst = this.#burst.shift();
    if (burst !== undefined) return Math.min(burst, this.#pollIntervalMs);
    this.#idleMs = Math.min(Math.max(2 * this.#idleMs, FIRST_IDLE_MS), this.#pollIntervalMs);
    return this.#idleMs;
  }
}
