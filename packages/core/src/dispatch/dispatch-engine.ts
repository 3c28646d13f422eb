import { EnqueuePipeline } from '../enqueue/enqueue-pipeline.js';
import { OutboxError } from '../message/errors.js';
import type { OptionNames } from '../message/known-options.js';
import type { Random } from '../message/retry-policy.js';
import { type Clock, systemClock } from '../observe/clock.js';
import {
  intercept,
  type OutboxInterceptor,
  type PublishLayer,
  type PublishStep,
  publishLayers,
} from '../observe/interceptors.js';
import { OutboxSignals } from '../observe/outbox-signals.js';
import { type OutboxPublisher, type PublishFunction, toPublisher } from '../publish/outbox-publisher.js';
import { contextOf } from '../publish/publish-group.js';
import { PublishSlots } from '../publish/publish-slots.js';
import type { OutboxStore } from '../store/outbox-store.js';
import { CallLimit } from './call-limit.js';
import { ClaimedBatch } from './claimed-batch.js';
import { LateClaims } from './late-claims.js';
import { assertPublishFitsClaim, CONFIG_NAMES, type OutboxConfig, resolveConfig } from './outbox-config.js';
import type { DispatchSummary } from './outbox-dispatcher.js';

export interface DispatcherOptions extends Partial<OutboxConfig> {
  /** Knows the schemas that rows are checked against before they are published. */
  readonly pipeline?: EnqueuePipeline;
  readonly interceptors?: Iterable<OutboxInterceptor>;
  /** Where it tells what became of rows. */
  readonly signals?: OutboxSignals;
  /** For tests. */
  readonly clock?: Clock;
  /** For tests. Jitter draws from it. */
  readonly random?: Random;
}

export const DISPATCHER_NAMES: OptionNames<DispatcherOptions> = {
  ...CONFIG_NAMES,
  pipeline: true,
  interceptors: true,
  signals: true,
  clock: true,
  random: true,
};

/** What the dispatcher and the worker share: everything that a batch of claimed rows needs on its way. */
export class DispatchEngine {
  readonly store: OutboxStore;
  readonly config: OutboxConfig;
  readonly publisher: OutboxPublisher;
  readonly pipeline: EnqueuePipeline;
  readonly signals: OutboxSignals;
  readonly clock: Clock;
  readonly random: Random;
  readonly slots: PublishSlots;
  readonly calls: CallLimit;
  readonly lateClaims: LateClaims;
  readonly #interceptors: readonly OutboxInterceptor[];

  constructor(
    store: OutboxStore,
    publisher: OutboxPublisher | PublishFunction,
    options: DispatcherOptions = {},
  ) {
    const { pipeline, interceptors, signals, clock, random, ...config } = options;
    this.store = store;
    this.config = resolveConfig(config);
    assertPublishFitsClaim(this.config, store.claimTimeoutMs);
    this.publisher = toPublisher(publisher);
    this.pipeline = pipeline ?? new EnqueuePipeline();
    this.signals = signals ?? new OutboxSignals();
    this.clock = clock ?? systemClock;
    this.random = random ?? Math.random;
    this.slots = new PublishSlots(this.config.concurrency);
    this.calls = new CallLimit(this.clock);
    this.lateClaims = new LateClaims(store);
    this.#interceptors = [...(interceptors ?? [])];
  }

  /** Undefined when no row is due. */
  async claim(limit: number): Promise<ClaimedBatch | undefined> {
    this.#assertNotStuck();
    // Taken before the claim is sent, so that our deadline passes before the database's does.
    const sentAtMs = this.clock.monotonicMs();
    const fetching = this.store.fetchPending(limit);
    try {
      const rows = await this.calls.within(this.store.claimTimeoutMs, 'claim', fetching);
      const token = rows[0]?.claimToken;
      if (token === undefined) return undefined;
      for (const row of rows) if (row.retakes > 0) this.signals.tell('retaken', { row });
      return new ClaimedBatch(this, token, rows, sentAtMs);
    } catch (error) {
      this.lateClaims.expect(fetching);
      throw error;
    }
  }

  /** Runs `work` inside the interceptors of `dispatch`. */
  async dispatch(limit: number, work: (limit: number) => Promise<DispatchSummary>): Promise<DispatchSummary> {
    const layers = this.#interceptors.map((interceptor) => interceptor.dispatch?.bind(interceptor));
    return intercept(layers, work)(limit);
  }

  /** What stands around the publishes of a batch that begins now. */
  publishLayers(): readonly PublishLayer[] {
    return publishLayers(this.#interceptors);
  }

  /** The publisher inside these layers. */
  publishWith(layers: readonly PublishLayer[]): PublishStep {
    const { publisher } = this;
    if (layers.length === 0) return (row, context) => publisher.publish(row, context);
    const publish = intercept(layers, (row, context) => publisher.publish(row, context));
    return (row, context) => publish(row, contextOf(row, context));
  }

  /** Claiming rows that nothing can publish would only hold them back from other dispatchers. */
  #assertNotStuck(): void {
    if (!this.slots.stuck) return;
    throw new OutboxError(
      'PUBLISHER_STUCK',
      `all ${this.config.concurrency} publishes that may run at once timed out and have not ended; the publisher must end when context.signal aborts`,
    );
  }
}
