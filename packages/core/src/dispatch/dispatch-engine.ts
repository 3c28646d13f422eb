import { EnqueuePipeline } from '../enqueue/enqueue-pipeline.js';
import type { DispatchSummary } from '../message/dispatch-summary.js';
import { OutboxError } from '../message/errors.js';
import type { OptionNames } from '../message/known-options.js';
import type { Random } from '../message/retry-policy.js';
import type { StopOptions } from '../modules/lifecycle.js';
import { DispatchEvents } from '../observe/dispatch-events.js';
import { intercept, type OutboxInterceptor, publishLayers } from '../observe/interceptors.js';
import { Availability, type ClaimPlan, PausedTopics } from '../publish/availability.js';
import { type OutboxPublisher, type PublishFunction, toPublisher } from '../publish/outbox-publisher.js';
import { PublisherRuns } from '../publish/publisher-runs.js';
import { StoreCalls } from '../runtime/store-calls.js';
import { type Clock, systemClock } from '../runtime/timing.js';
import type { ClaimOptions } from '../store/claim-options.js';
import type { LookAhead } from '../store/look-ahead.js';
import type { OutboxStore } from '../store/outbox-store.js';
import { type Standing, UNREGISTERED } from './claim-lease.js';
import { type BatchContext, ClaimedBatch } from './claimed-batch.js';
import { LateClaims } from './late-claims.js';
import { assertPublishFitsClaim, CONFIG_NAMES, type OutboxConfig, resolveConfig } from './outbox-config.js';
import { PublishSlots } from './publish-bounded.js';
import { RateLimits } from './rate-limits.js';
import { StoreClock } from './store-clock.js';
import { Verdicts } from './verdicts.js';

export interface DispatcherOptions extends Partial<OutboxConfig> {
  /** Holds the payload schemas that rows are checked against before they are published. */
  readonly pipeline?: EnqueuePipeline;
  readonly interceptors?: Iterable<OutboxInterceptor>;
  /** Where events are emitted. */
  readonly events?: DispatchEvents;
  /** Shared by a dispatcher and a worker with the same publishers: each is started once. @default its own */
  readonly publisherRuns?: PublisherRuns;
  /** For tests. */
  readonly clock?: Clock;
  /** For tests: the source of jitter. */
  readonly random?: Random;
}

export const DISPATCHER_NAMES: OptionNames<DispatcherOptions> = {
  ...CONFIG_NAMES,
  pipeline: true,
  interceptors: true,
  events: true,
  publisherRuns: true,
  clock: true,
  random: true,
};

/** Under which token a claim is sent. */
export interface ClaimGrant {
  /** Never used before. */
  readonly token: string;
  readonly standing: Standing;
}

/** How long an answer to `lookAhead` may take: after that, it no longer helps. */
const LOOK_AHEAD_LIMIT_MS = 5_000;

/** Claims batches for the dispatcher and the worker, and keeps track of rows that outlive their batch. */
export class DispatchEngine {
  readonly config: OutboxConfig;
  readonly availability: Availability;
  readonly pauses: PausedTopics;
  readonly publishers: PublisherRuns;
  /** Stops the publishers that were started here, unless they are shared: then nobody knows who else needs them. */
  readonly stopPublishers: (options: StopOptions) => Promise<void>;
  /** The calls to the store that we wait for. */
  readonly calls: StoreCalls;
  readonly #limits: RateLimits | undefined;
  readonly #context: Omit<BatchContext, 'layers'>;
  readonly #lateClaims: LateClaims;
  readonly #interceptors: readonly OutboxInterceptor[];

  constructor(
    store: OutboxStore,
    publisher: OutboxPublisher | PublishFunction,
    options: DispatcherOptions = {},
    looksAheadEveryMs = 0,
  ) {
    const { pipeline, interceptors, events, publisherRuns, clock = systemClock, random, ...config } = options;
    this.config = resolveConfig(config);
    assertPublishFitsClaim(this.config, store.claimTimeoutMs);
    this.calls = new StoreCalls(clock, store.claimTimeoutMs);
    const target = toPublisher(publisher);
    const emitter = events ?? new DispatchEvents();
    this.publishers =
      publisherRuns ?? new PublisherRuns(emitter, { redeliveryAfterMs: store.claimTimeoutMs });
    this.stopPublishers = async (stopOptions) => {
      if (publisherRuns === undefined) await this.publishers.stop(stopOptions);
    };
    this.availability = new Availability(target, emitter, clock, random ?? Math.random);
    const { rateLimit } = this.config;
    this.#limits = rateLimit && new RateLimits(rateLimit, clock);
    this.pauses = new PausedTopics(() => this.lookAhead(), clock, looksAheadEveryMs);
    this.#context = {
      ...this.config,
      store,
      clock,
      publisher: target,
      availability: this.availability,
      pauses: this.pauses,
      storeClock: this.config.maxAgeMs === undefined ? undefined : new StoreClock(clock),
      events: emitter,
      slots: new PublishSlots(this.config.concurrency, clock),
      calls: this.calls,
      verdicts: new Verdicts(this.config, pipeline ?? new EnqueuePipeline(), random ?? Math.random),
    };
    this.#lateClaims = new LateClaims(store);
    this.#interceptors = [...(interceptors ?? [])];
  }

  /** Claims up to `limit` rows; undefined when none is due or none can be sent. Without a grant, under a random token. */
  async claim(limit: number, grant?: ClaimGrant): Promise<ClaimedBatch | undefined> {
    this.#assertNotStuck();
    const { publisher } = this.#context;
    if (!this.publishers.ready.has(publisher) && this.publishers.mustStart(publisher))
      await this.publishers.start(publisher);
    if (this.availability.waitMs > 0) return undefined;
    if (!this.pauses.isKnown) await this.lookAhead();
    const { store, calls, clock, events } = this.#context;
    // Read before the claim is sent, so that our deadline passes before the database's.
    const sentAtMs = clock.monotonicMs();
    const plan = planOf(limit, this.availability, this.pauses, this.#limits);
    const fetching = store.fetchPending(plan.limit, claimOptions(plan, grant));
    try {
      const rows = await calls.answer('claim', fetching);
      const token = rows[0]?.claimToken;
      if (token === undefined) return undefined;
      for (const row of rows) if (row.retakes > 0) events.emit('retaken', { row });
      // Looked up for each batch: an interceptor may add or remove its `publish` method.
      const layers = this.#interceptors.length === 0 ? [] : publishLayers(this.#interceptors);
      const claim = {
        token,
        sentAtMs,
        standing: grant?.standing ?? UNREGISTERED,
        isFull: rows.length >= plan.limit,
        isSmall: plan.limit < limit,
        overLimit: this.#limits?.take(rows),
      };
      return new ClaimedBatch({ ...this.#context, layers }, claim, rows);
    } catch (error) {
      this.#lateClaims.releaseWhenAnswered(fetching);
      throw error;
    }
  }

  /** How long to wait at most before the next claim, for rows of topics that the last one left out. */
  get leftOutWaitMs(): number {
    return Math.min(this.#limits?.waitMs ?? Number.POSITIVE_INFINITY, this.availability.topics.tryInMs);
  }

  async lookAhead(): Promise<LookAhead> {
    const { store, calls } = this.#context;
    this.pauses.asked();
    const ahead = await calls.within(LOOK_AHEAD_LIMIT_MS, 'look ahead', store.lookAhead());
    this.pauses.are(ahead.pausedTopics);
    if (ahead.nowMs !== undefined) this.#context.storeClock?.heard(ahead.nowMs);
    return ahead;
  }

  /** For callers that don't look ahead themselves. */
  async refreshPauses(): Promise<void> {
    if (!this.pauses.isFresh) await this.lookAhead();
  }

  /** Runs `work` inside the `dispatch` interceptors. */
  async dispatch(limit: number, work: (limit: number) => Promise<DispatchSummary>): Promise<DispatchSummary> {
    if (this.#interceptors.length === 0) return work(limit);
    const layers = this.#interceptors.map((interceptor) => interceptor.dispatch?.bind(interceptor));
    return intercept(layers, work)(limit);
  }

  /** Allows publishes to start. */
  open(): void {
    this.#context.slots.open();
  }

  /** Starts no more publishes; running ones continue. */
  close(): void {
    this.#context.slots.close();
  }

  /** Resolves when the release of every claim that was answered late has succeeded or failed. */
  lateClaimsReleased(): Promise<void> {
    return this.#lateClaims.released();
  }

  /** Ids of rows in no batch that are still claimed or being published here. */
  get idsOutsideBatches(): string[] {
    return [...this.#lateClaims.ids, ...this.#context.slots.overrunIds];
  }

  /** Claiming rows that we can't publish would only keep them from other dispatchers. */
  #assertNotStuck(): void {
    if (!this.#context.slots.stuck) return;
    throw new OutboxError(
      'PUBLISHER_STUCK',
      `all ${this.config.concurrency} concurrent publishes timed out and are still running; the publisher must stop when context.signal aborts`,
    );
  }
}

function claimOptions({ exceptTopics }: ClaimPlan, grant: ClaimGrant | undefined): ClaimOptions {
  return {
    ...(grant && { token: grant.token }),
    ...(exceptTopics.length > 0 && { exceptTopics }),
  };
}

function planOf(
  limit: number,
  { topics }: Availability,
  pauses: PausedTopics,
  limits: RateLimits | undefined,
): ClaimPlan {
  const available = topics.plan(limit);
  const limited = limits?.plan(available.limit) ?? { limit: available.limit, exceptTopics: [] };
  const exceptTopics = [...available.exceptTopics, ...pauses.list, ...limited.exceptTopics];
  return { limit: limited.limit, exceptTopics: [...new Set(exceptTopics)] };
}
