/** The shortest wait between polls, except right after a pause and while more rows may be due. */
const SHORTEST_MS = 2;
/**
 * The first waits of a burst. A hint from this process arrives before the COMMIT, which takes about as long as one or
 * two polls. A hint from another process arrives after it; poll once more, in case another worker claimed those rows
 * first.
 */
const QUICK_MS = { 'before-commit': [0, 0, 1], 'after-commit': [1] } as const;
/** The remaining waits. They cover other enqueues in the next 25 ms, then transactions that are slow to commit. */
const BURST_MS = [2, 3, 3, 3, 3, 3, 3, 3, 3, 10, 50, 100, 100] as const;
/** The first wait when idle; each further one doubles, up to `pollIntervalMs`. */
const FIRST_IDLE_MS = 20;

/** What a poll found: nothing, all rows that were due, or some rows while more may be due. */
export type PollResult = 'nothing' | 'all' | 'more';
/** Whether a hint arrives before or after the COMMIT it announces. */
export type HintTime = keyof typeof QUICK_MS;

/** Decides when to poll next: at once while more may be due, in a burst after a hint, otherwise ever less often. */
export class PollPace {
  readonly #pollIntervalMs: number;
  #burst: number[] = [];
  #idleMs = 0;
  #waitMs = 0;
  #isStalled = false;

  constructor(pollIntervalMs: number) {
    this.#pollIntervalMs = pollIntervalMs;
  }

  /** If the last batch made no progress, the next polls back off. */
  batchEnded({ madeProgress }: { madeProgress: boolean }): void {
    this.#isStalled = !madeProgress;
  }

  /** Returns the wait before the next poll. */
  afterPoll(found: PollResult): number {
    const result = this.#isStalled ? 'nothing' : found;
    if (result !== 'nothing') {
      this.#idleMs = 0;
      // The quick polls have found the rows they were waiting for.
      this.#burst = this.#burst.filter((ms) => ms >= SHORTEST_MS);
    }
    this.#waitMs = result === 'more' ? 0 : this.#nextWaitMs();
    return this.#waitMs;
  }

  /** Begins a burst. Returns true if the worker should poll now instead of waiting. */
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
