import { type DispatchSummary, OutboxDispatcher, type PublishFunction } from '@postcommit/core';
import { MemoryOutboxStore, MemoryTable, VirtualClock } from '@postcommit/store-memory';

/** The store and the dispatcher share one clock, which stands still until a test moves it. */
export class OutboxUnderTest {
  readonly clock = new VirtualClock();
  readonly store = new MemoryOutboxStore({ table: new MemoryTable(this.clock), claimTimeoutMs: 60_000 });
  readonly #dispatcher: OutboxDispatcher;

  constructor(handler: PublishFunction) {
    this.#dispatcher = new OutboxDispatcher(this.store, handler, {
      clock: this.clock,
      maxAttempts: 3,
      backoff: { type: 'exponential', delayMs: 10_000 },
      publishTimeoutMs: 5_000,
    });
  }

  dispatch(): Promise<DispatchSummary> {
    return this.#dispatcher.dispatchPending();
  }

  /** Moves the clock, then dispatches what has fallen due. */
  async dispatchAfter(ms: number): Promise<DispatchSummary> {
    await this.clock.advance(ms);
    return this.dispatch();
  }
}
