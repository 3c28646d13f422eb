import type { DispatchSummary } from '../message/dispatch-summary.js';
import { assertKnownOptions } from '../message/known-options.js';
import { assertGrace, STOP_NAMES, type StopOptions } from '../modules/lifecycle.js';
import { nameToken } from '../modules/token.js';
import type { OutboxPublisher, PublishFunction } from '../publish/outbox-publisher.js';
import { assertLimit, type OutboxStore } from '../store/outbox-store.js';
import { DISPATCHER_NAMES, DispatchEngine, type DispatcherOptions } from './dispatch-engine.js';

/** How long a failed settle is retried. Long enough for a database to restart; a call must end sometime. */
const RETRY_SETTLE_FOR_MS = 10_000;
const NOTHING: DispatchSummary = { fetched: 0, dispatched: 0, failed: 0, dead: 0, fenced: 0 };

/**
 * Claims due rows, publishes them and records the outcomes, one batch per call. `OutboxWorker` does so continuously.
 *
 * @example
 * const dispatcher = new OutboxDispatcher(store, (row) => broker.send(row.topic, row.payload));
 * await dispatcher.dispatchPending();
 */
export class OutboxDispatcher {
  static {
    nameToken(this, '@postcommit/core/OutboxDispatcher');
  }

  readonly #engine: DispatchEngine;

  constructor(
    store: OutboxStore,
    publisher: OutboxPublisher | PublishFunction,
    options: DispatcherOptions = {},
  ) {
    assertKnownOptions('OutboxDispatcher', options, DISPATCHER_NAMES);
    this.#engine = new DispatchEngine(store, publisher, options);
  }

  /**
   * Publishes one batch of at most `limit` rows. A row that fails does not stop the others. Recording the outcomes is
   * retried for ten seconds; if it still fails, the call rejects, and published rows are published again once the claim
   * expires.
   *
   * @throws `INVALID_ARGUMENT` for an invalid limit, `PUBLISHER_STUCK` when every publish slot is held by a publish
   * that timed out and is still running; what the publisher throws when it starts with a wrong configuration.
   */
  async dispatchPending(limit: number = this.#engine.config.batchSize): Promise<DispatchSummary> {
    assertLimit(limit);
    return this.#engine.dispatch(limit, async (size) => {
      await this.#engine.refreshPauses();
      const batch = await this.#engine.claim(size);
      return batch ? batch.run({ retrySettleForMs: RETRY_SETTLE_FOR_MS }) : NOTHING;
    });
  }

  /**
   * Stops a publisher that `dispatchPending` has started, e.g. closes its connection. In a composed application,
   * `app.stop()` does that. The next `dispatchPending` starts it again.
   */
  async stop(options: StopOptions = {}): Promise<void> {
    assertKnownOptions('stop', options, STOP_NAMES, 'INVALID_ARGUMENT');
    assertGrace(options.graceMs);
    await this.#engine.stopPublishers(options);
  }
}
