import type { Random } from '../message/retry-policy.js';
import type { DispatchEvents } from '../observe/dispatch-events.js';
import type { Clock } from '../runtime/timing.js';

/** The shortest wait between polls, except right after a pause and while more rows may be due. */
const SHORTEST_MS = 2;
/**
 * The first waits after a hint. One from this process arrives before the COMMIT, which takes about as long as one or two
 * polls. Others arrive after it; poll once more, in case a poll was under way that could not see those rows.
 */
const QUICK_MS = { 'before-commit': [0, 0, 1], 'after-commit': [1], burst: [1] } as const;
/** The remaining waits. They cover other enqueues in the next 25 ms, then transactions that are slow to commit. */
const BURST_MS = [2, 3, 3, 3, 3, 3, 3, 3, 3, 10, 50, 100, 100] as const;
/** The wait after a poll during which a commit was announced. Lets commits that follow each other share a poll. */
const MISSED_MS = 1;
/** The first wait when idle; each further one doubles, up to `pollIntervalMs`. */
const FIRST_IDLE_MS = 20;

/** So many workers all react to a hint that they all receive. */
const SMALL_CROWD = 8;

/** Whether a few of these workers are enough for a hint that they all receive. */
export function isCrowd(workers: number): boolean {
  return workers > SMALL_CROWD;
}

/** What a poll found: nothing, all rows that were due, or some rows while more may be due. */
export type PollResult = 'nothing' | 'all' | 'more';
/**
 * Whether a hint arrives before or after the COMMIT it announces; or in a burst, in which not every COMMIT is announced.
 */
export type HintTime = keyof typeof QUICK_MS;

/**
 * Decides when to poll next: at once while more may be due or when a COMMIT is announced, repeatedly after other hints,
 * otherwise ever less often.
 */
export class PollPace {
  readonly #pollIntervalMs: number;
  #burst: number[] = [];
  #idleMs = 0;
  #waitMs = 0;
  #isStalled = false;
  /** Whether a COMMIT was announced that the poll under way may not see. */
  #hasMissed = false;
  #isInCrowd = false;

  constructor(pollIntervalMs: number) {
    this.#pollIntervalMs = pollIntervalMs;
  }

  /** In a crowd, what one poll misses is found by the next poll of another worker: none of them polls more often. */
  sharedBy(workers: number): void {
    this.#isInCrowd = isCrowd(workers);
  }

  /** If the last batch made no progress, the next polls back off. */
  batchEnded({ madeProgress }: { madeProgress: boolean }): void {
    this.#isStalled = !madeProgress;
  }

  /** Returns the wait before the next poll. */
  afterPoll(found: PollResult): number {
    const result = this.#isStalled ? 'nothing' : found;
    if (result !== 'nothing') {
      this.#restart();
      // The quick polls have found the rows they were waiting for.
      this.#burst = this.#burst.filter((ms) => ms >= SHORTEST_MS);
    }
    const hasMissed = this.#hasMissed && !this.#isStalled;
    this.#hasMissed = false;
    this.#waitMs = result === 'more' ? 0 : hasMissed ? MISSED_MS : this.#nextWaitMs();
    return this.#waitMs;
  }

  /** Returns true if the worker should poll now instead of waiting. Only hints of a COMMIT begin no burst. */
  hint(time: HintTime): boolean {
    const isPausing = this.#waitMs > SHORTEST_MS;
    if (time === 'after-commit') return this.#committed(isPausing);
    this.#burst = isPausing ? [...QUICK_MS[time], ...BURST_MS] : [...BURST_MS];
    this.#restart();
    return isPausing;
  }

  #committed(isPausing: boolean): boolean {
    this.#restart();
    if (!isPausing) {
      this.#hasMissed = true;
      return false;
    }
    if (!this.#isInCrowd) this.#burst = [...QUICK_MS['after-commit'], ...this.#burst];
    // The poll begins now: further hints come too late for it.
    this.#waitMs = 0;
    return true;
  }

  #restart(): void {
    if (!this.#isInCrowd) this.#idleMs = 0;
  }

  #nextWaitMs(): number {
    const burst = this.#burst.shift();
    if (burst !== undefined) return Math.min(burst, this.#pollIntervalMs);
    this.#idleMs = Math.min(Math.max(2 * this.#idleMs, FIRST_IDLE_MS), this.#pollIntervalMs);
    return this.#idleMs;
  }
}

/** Not worth a question: a row that falls due during such a wait is late by no more than it. */
const SHORT_WAIT_MS = 40;
/** The shortest wait for a row that falls due. Doubles each time that no row could be claimed then. */
const LEAST_MS = 2;

/**
 * What the worker knows about the next row that falls due. It only shortens the waits between polls: rows that nobody
 * answered for are found by the polls.
 */
export class NextDue {
  readonly #clock: Clock;
  readonly #longestMs: number;
  #question: { readonly askedAtMs: number; isOutdated: boolean } | undefined;
  #answer: { readonly askedAtMs: number; readonly dueAtMs: number } | undefined;
  #leastMs = LEAST_MS;

  constructor(clock: Clock, longestMs: number) {
    this.#clock = clock;
    this.#longestMs = longestMs;
  }

  /** Whether to ask the store before this wait: not for a short one, nor while an answer is younger than the wait. */
  isWorthAsking(waitMs: number): boolean {
    if (this.#question || waitMs <= SHORT_WAIT_MS) return false;
    return !this.#answer || this.#clock.monotonicMs() - this.#answer.askedAtMs >= waitMs;
  }

  asked(): void {
    this.#question = { askedAtMs: this.#clock.monotonicMs(), isOutdated: false };
  }

  /** Returns false if rows may have come since the question, so that it must be asked again. */
  answered(inMs: number | undefined): boolean {
    const question = this.#question;
    this.#question = undefined;
    if (!question || question.isOutdated) return false;
    // Counted from the answer: a row must not be looked for before it is due.
    const dueAtMs = this.#clock.monotonicMs() + (inMs ?? Number.POSITIVE_INFINITY);
    this.#answer = { askedAtMs: question.askedAtMs, dueAtMs };
    return true;
  }

  /** Rows may have come that fall due earlier than the answer says. */
  forget(): void {
    this.#answer = undefined;
    if (this.#question) this.#question.isOutdated = true;
  }

  /**
   * A poll was answered. Rows that fell due and could not be claimed are blocked, or others took them: with many such
   * rows, the worker must not wake for each.
   */
  polled({ foundRows }: { foundRows: boolean }): void {
    if (foundRows) this.#leastMs = LEAST_MS;
    if (!this.#answer || this.#answer.dueAtMs > this.#clock.monotonicMs()) return;
    this.#answer = undefined;
    if (!foundRows) this.#leastMs = Math.min(2 * this.#leastMs, this.#longestMs);
  }

  /** The wait, or the time until the next row falls due if that is shorter. */
  shorten(waitMs: number): number {
    if (!this.#answer) return waitMs;
    // Rounded up: timers cut off fractions.
    const inMs = Math.ceil(this.#answer.dueAtMs - this.#clock.monotonicMs());
    return Math.min(waitMs, Math.max(inMs, this.#leastMs));
  }
}

// Waits while the store can't be reached. They double and have jitter.
const FIRST_WAIT_MS = 100;
const LONGEST_WAIT_MS = 5_000;

/** Tracks whether the store answers the worker's polls, and how long to wait while it does not. */
export class StoreTrouble {
  readonly #events: DispatchEvents;
  readonly #clock: Clock;
  readonly #random: Random;
  #current: { readonly sinceMs: number; readonly error: unknown; readonly tries: number } | undefined;
  #lastAnswerMs: number | undefined;

  constructor(events: DispatchEvents, clock: Clock, random: Random) {
    this.#events = events;
    this.#clock = clock;
    this.#random = random;
  }

  /** The current outage; undefined when the last poll was answered. */
  get current(): { readonly error: unknown } | undefined {
    return this.#current;
  }

  /** Undefined before the first answer. */
  get lastAnswerAgeMs(): number | undefined {
    return this.#lastAnswerMs === undefined ? undefined : this.#msSince(this.#lastAnswerMs);
  }

  answered(): void {
    this.#lastAnswerMs = this.#clock.monotonicMs();
    if (!this.#current) return;
    const afterMs = this.#msSince(this.#current.sinceMs);
    this.#current = undefined;
    this.#events.emit('recovered', { afterMs });
  }

  /** Returns the wait before the next try. Never 0: a store that fails at once must not cause a busy loop. */
  failed(error: unknown): number {
    const { sinceMs, tries } = this.#current ?? { sinceMs: this.#clock.monotonicMs(), tries: 0 };
    this.#current = { sinceMs, error, tries: tries + 1 };
    const longestMs = Math.min(FIRST_WAIT_MS * 2 ** Math.min(tries, 30), LONGEST_WAIT_MS);
    const retryInMs = Math.ceil(longestMs * (0.5 + this.#random() / 2));
    this.#events.emit('trouble', { error, retryInMs });
    return retryInMs;
  }

  /** Rounded, because people read it. */
  #msSince(monotonicMs: number): number {
    return Math.round(this.#clock.monotonicMs() - monotonicMs);
  }
}
