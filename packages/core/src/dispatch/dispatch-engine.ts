import { EnqueuePipeline } from '../enqueue/enqueue-pipeline.js';
import type { DispatchSummary } from '../message/dispatch-summary.js';
import { OutboxError } from '../message/errors.js';
import type { OptionNames } from '../message/known-options.js';
import type { Random } from '../message/retry-policy.js';
import { type Clock, systemClock } from '../modules/clock.js';
import { DispatchEvents } from '../observe/dispatch-events.js';
import { intercept, type OutboxInterceptor, publishLayers } from '../observe/interceptors.js';
import { type OutboxPublisher, type PublishFunction, toPublisher } from '../publish/outbox-publisher.js';
import { PublishSlots } from '../publish/publish-slots.js';
import type { OutboxStore } from '../store/outbox-store.js';
import { CallLimit } from './call-limit.js';
import { type BatchContext, ClaimedBatch } from './claimed-batch.js';
import { LateClaims } from './late-claims.js';
import { assertPublishFitsClaim, CONFIG_NAMES, type OutboxConfig, resolveConfig } from './outbox-config.js';
import { Verdicts } from './verdicts.js';

export interface DispatcherOptions extends Partial<OutboxConfig> {
  /** Knows the schemas that rows are checked against before they are published. */
  readonly pipeline?: EnqueuePipeline;
  readonly interceptors?: Iterable<OutboxInterceptor>;
  /** Where events are emitted. */
  readonly events?: DispatchEvents;
  /** For tests. */
  readonly clock?: Clock;
  /** For tests. Jitter draws from it. */
  readonly random?: Random;
}

export const DISPATCHER_NAMES: OptionNames<DispatcherOptions> = {
  ...CONFIG_NAMES,
  pipeline: true,
  interceptors: true,
  events: true,
  clock: true,
  random: true,
};

/** Claims batches for the dispatcher and the worker, and counts what they leave behind. */
export class DispatchEngine {
  readonly config: OutboxConfig;
  readonly calls: CallLimit;
  readonly #context: Omit<BatchContext, 'layers'>;
  readonly #lateClaims: LateClaims;
  readonly #interceptors: readonly OutboxInterceptor[];

  constructor(
    store: OutboxStore,
    publisher: OutboxPublisher | PublishFunction,
    options: DispatcherOptions = {},
  ) {
    const { pipeline, interceptors, events, clock = systemClock, random, ...config } = options;
    this.config = resolveConfig(config);
    assertPublishFitsClaim(this.config, store.claimTimeoutMs);
    this.calls = new CallLimit(clock);
    this.#context = {
      ...this.config,
      store,
      clock,
      publisher: toPublisher(publisher),
      events: events ?? new DispatchEvents(),
      slots: new PublishSlots(this.config.concurrency),
      calls: this.calls,
      verdicts: new Verdicts(this.config, pipeline ?? new EnqueuePipeline(), random ?? Math.random),
    };
    this.#lateClaims = new LateClaims(store);
    this.#interceptors = [...(interceptors ?? [])];
  }

  /** Undefined when no row is due. */
  async claim(limit: number): Promise<ClaimedBatch | undefined> {
    this.#assertNotStuck();
    const { store, calls, clock, events } = this.#context;
    // Read before the claim is sent, so that our deadline passes before the database's does.
    const sentAtMs = clock.monotonicMs();
    const fetching = store.fetchPending(limit);
    try {
      const rows = await calls.within(store.claimTimeoutMs, 'claim', fetching);
      const token = rows[0]?.claimToken;
      if (token === undefined) return undefined;
      for (const row of rows) if (row.retakes > 0) events.emit('retaken', { row });
      // Interceptors are asked for each batch: one may come and go.
      const layers = publishLayers(this.#interceptors);
      return new ClaimedBatch({ ...this.#context, layers }, token, rows, sentAtMs);
    } catch (error) {
      this.#lateClaims.expect(fetching);
      throw error;
    }
  }

  /** Runs `work` inside the interceptors of `dispatch`. */
  async dispatch(limit: number, work: (limit: number) => Promise<DispatchSummary>): Promise<DispatchSummary> {
    const layers = this.#interceptors.map((interceptor) => interceptor.dispatch?.bind(interceptor));
    return intercept(layers, work)(limit);
  }

  /** Lets publishes start; from `close` on none does, and what runs goes on. */
  open(): void {
    this.#context.slots.open();
  }

  close(): void {
    this.#context.slots.close();
  }

  /** Resolves when every claim that was answered too late has been released, or could not be. */
  lateClaimsReleased(): Promise<void> {
    return this.#lateClaims.released();
  }

  /** Rows that belong to no batch, but are still claimed or being published here. */
  get strayIds(): string[] {
    return [...this.#lateClaims.ids, ...this.#context.slots.overrunIds];
  }

  /** Claiming rows that nothing can publish would only keep them from other dispatchers. */
  #assertNotStuck(): void {
    if (!this.#context.slots.stuck) return;
    throw new OutboxError(
      'PUBLISHER_STUCK',
      `all ${this.config.concurrency} publishes that may run at once timed out and have not ended; the publisher must end when context.signal aborts`,
    );
  }
}
