import type { DispatchSummary, OutboxDispatcher, OutboxStore } from '@postcommit/core';

/** Rounds over everything that is due, in which nothing is published and nothing dies, before a loop gives up. */
const MAX_ROUNDS = 20;
/** A round is counted in rows; looking at more of them would cost more than it tells. */
const MAX_ROUND_ROWS = 500;

/** Batch after batch, with their sum. */
export class DispatchLoop {
  readonly #dispatcher: OutboxDispatcher;
  readonly #store: OutboxStore;
  readonly #limit: number | undefined;
  #total: DispatchSummary = { fetched: 0, dispatched: 0, failed: 0, dead: 0, fenced: 0 };
  #lastFetched = 0;
  #fetchedInVain = 0;
  #isStuck = false;

  constructor(dispatcher: OutboxDispatcher, store: OutboxStore, limit?: number) {
    this.#dispatcher = dispatcher;
    this.#store = store;
    this.#limit = limit;
  }

  get total(): DispatchSummary {
    return this.#total;
  }

  /** Whether it gave up although rows are due. */
  get isStuck(): boolean {
    return this.#isStuck;
  }

  async next(): Promise<void> {
    const batch = await this.#dispatcher.dispatchPending(this.#limit);
    this.#total = sum(this.#total, batch);
    this.#lastFetched = batch.fetched;
    this.#fetchedInVain = batch.dispatched + batch.dead > 0 ? 0 : this.#fetchedInVain + batch.fetched;
  }

  /**
   * False when nothing was due, or when going on is no use: without a backoff a failed row is due at once, and one
   * that never succeeds would keep the loop running for ever.
   */
  async hasMore(): Promise<boolean> {
    if (this.#lastFetched === 0) return false;
    if (this.#fetchedInVain > 0) {
      this.#isStuck = this.#fetchedInVain >= MAX_ROUNDS * Math.max(1, await this.#countDue());
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
  return {
    fetched: a.fetched + b.fetched,
    dispatched: a.dispatched + b.dispatched,
    failed: a.failed + b.failed,
    dead: a.dead + b.dead,
    fenced: a.fenced + b.fenced,
  };
}
