import type { DispatchSummary, OutboxDispatcher, OutboxStore } from '@postcommit/core';

/** Rounds over all due rows without progress (no row published, no row dead) after which the loop gives up. */
const MAX_ROUNDS = 20;
/** Upper bound of the rows counted to measure a round, which keeps the query cheap. */
const MAX_ROUND_ROWS = 500;

/** Dispatches one batch after another and sums them up. */
export class DispatchLoop {
  readonly #dispatcher: OutboxDispatcher;
  readonly #store: OutboxStore;
  readonly #limit: number | undefined;
  #total: DispatchSummary = { fetched: 0, dispatched: 0, failed: 0, dead: 0, fenced: 0 };
  #lastFetched = 0;
  #fetchedWithoutProgress = 0;
  #isStuck = false;
  /** Of the last batch with rows: the destinations of all of them were away. */
  #lastWasUnavailable = false;

  constructor(dispatcher: OutboxDispatcher, store: OutboxStore, limit?: number) {
    this.#dispatcher = dispatcher;
    this.#store = store;
    this.#limit = limit;
  }

  get total(): DispatchSummary {
    return this.#total;
  }

  /** Whether it gave up while rows were still due. */
  get isStuck(): boolean {
    return this.#isStuck;
  }

  /** Whether it ended with rows of a destination that is away. */
  get endedUnavailable(): boolean {
    return this.#lastWasUnavailable;
  }

  async next(): Promise<void> {
    const batch = await this.#dispatcher.dispatchPending(this.#limit);
    this.#total = sum(this.#total, batch);
    this.#lastFetched = batch.fetched;
    if (batch.fetched > 0) this.#lastWasUnavailable = batch.unavailable === batch.fetched;
    this.#fetchedWithoutProgress =
      batch.dispatched + batch.dead > 0 ? 0 : this.#fetchedWithoutProgress + batch.fetched;
  }

  /**
   * Returns false when no row was due, or when the loop makes no progress: without a backoff a failed row is due again at
   * once, so a row that never succeeds would keep the loop running forever.
   */
  async hasMore(): Promise<boolean> {
    if (this.#lastFetched === 0) return false;
    if (this.#fetchedWithoutProgress > 0) {
      this.#isStuck = this.#fetchedWithoutProgress >= MAX_ROUNDS * Math.max(1, await this.#countDue());
    }
    return !this.#isStuck;
  }

  async #countDue(): Promise<number> {
    const rows = await this.#store.peek({ state: 'pending' }, MAX_ROUND_ROWS);
    const now = Date.now();
    return rows.filter(({ availableAt }) => availableAt.getTime() <= now).length;
  }
}

function sum(a: DispatchSummary, b: DispatchSummary): DispatchSummary {
  const unavailable = (a.unavailable ?? 0) + (b.unavailable ?? 0);
  return {
    fetched: a.fetched + b.fetched,
    dispatched: a.dispatched + b.dispatched,
    failed: a.failed + b.failed,
    dead: a.dead + b.dead,
    fenced: a.fenced + b.fenced,
    ...(unavailable > 0 && { unavailable }),
  };
}
