import { BatchQueue } from './batch-queue.js';
import { ClaimLease } from './claim-lease.js';
import { type Clock, systemClock } from './clock.js';
import { condemned, undecodable } from './condemned.js';
import { outcomeOfError } from './decide.js';
import { EnqueuePipeline } from './enqueue.js';
import { OutboxError } from './errors.js';
import { intercept, type OutboxInterceptor, type PublishStep } from './interceptors.js';
import { nameToken } from './modules/token.js';
import { assertPublishFitsClaim, type OutboxConfig, resolveConfig } from './outbox-config.js';
import {
  type OutboxPublisher,
  type PublishContext,
  type PublishFunction,
  toPublisher,
} from './outbox-publisher.js';
import type { OutboxRow } from './outbox-row.js';
import { assertLimit, type OutboxStore } from './outbox-store.js';
import type { Outcome } from './outcome.js';
import { type PublishBounds, type PublishEnd, publishBounded } from './publish-bounded.js';
import { PublishSlots } from './publish-slots.js';
import { PublishTimeouts } from './publish-timeouts.js';
import type { Random } from './retry-policy.js';

/** What became of one batch. What was fetched and is counted nowhere else was given back unpublished. */
export interface DispatchSummary {
  readonly fetched: number;
  readonly dispatched: number;
  readonly failed: number;
  readonly dead: number;
  /** Rows whose claim was lost before the outcome could be recorded; their new owner decides. */
  readonly fenced: number;
}

export interface DispatcherOptions extends Partial<OutboxConfig> {
  /** Knows the schemas that rows are checked against before they are published. */
  readonly pipeline?: EnqueuePipeline;
  readonly interceptors?: Iterable<OutboxInterceptor>;
  /** For tests. */
  readonly clock?: Clock;
  /** For tests. Jitter draws from it. */
  readonly random?: Random;
}

/** Claims pending rows, publishes them and records what became of each. It has no loop of its own. */
export class OutboxDispatcher {
  static {
    nameToken(this, '@postcommit/core/OutboxDispatcher');
  }

  readonly #store: OutboxStore;
  readonly #config: OutboxConfig;
  readonly #pipeline: EnqueuePipeline;
  readonly #interceptors: readonly OutboxInterceptor[];
  readonly #clock: Clock;
  readonly #random: Random | undefined;
  readonly #publish: PublishStep;
  readonly #slots: PublishSlots;

  constructor(
    store: OutboxStore,
    publisher: OutboxPublisher | PublishFunction,
    options: DispatcherOptions = {},
  ) {
    const { pipeline, interceptors, clock, random, ...config } = options;
    this.#store = store;
    this.#config = resolveConfig(config);
    assertPublishFitsClaim(this.#config, store.claimTimeoutMs);
    this.#pipeline = pipeline ?? new EnqueuePipeline();
    this.#interceptors = [...(interceptors ?? [])];
    this.#clock = clock ?? systemClock;
    this.#random = random;
    this.#publish = this.#intercepted(toPublisher(publisher));
    this.#slots = new PublishSlots(this.#config.concurrency);
  }

  /** Publishes one batch, by default of `batchSize`. A failing row never stops the rows after it. */
  async dispatchPending(limit: number = this.#config.batchSize): Promise<DispatchSummary> {
    assertLimit(limit);
    const layers = this.#interceptors.map((interceptor) => interceptor.dispatch?.bind(interceptor));
    return intercept(layers, (size) => this.#dispatchBatch(size))(limit);
  }

  #intercepted(publisher: OutboxPublisher): PublishStep {
    const layers = this.#interceptors.flatMap((interceptor) => interceptor.publish?.bind(interceptor) ?? []);
    if (layers.length === 0) return (row, context) => publisher.publish(row, context);
    const publish = intercept(layers, (row, context) => publisher.publish(row, context));
    return (row, context) => publish(row, spreadable(context));
  }

  async #dispatchBatch(limit: number): Promise<DispatchSummary> {
    this.#assertNotStuck();
    const sentAtMs = this.#clock.monotonicMs();
    const rows = await this.#store.fetchPending(limit);
    const token = rows[0]?.claimToken;
    if (token === undefined) return summarise([], []);
    const lease = new ClaimLease(
      this.#store,
      token,
      rows.map(({ id }) => id),
      sentAtMs,
      this.#clock,
    );
    const timeouts = new PublishTimeouts(this.#clock, this.#config.publishTimeoutMs);
    const outcomes: Outcome[] = [];
    let settled: string[] = [];
    try {
      await this.#publishAll(rows, { lease, timeouts, slots: this.#slots, clock: this.#clock }, outcomes);
    } finally {
      timeouts.stop();
      lease.end();
      // A crash before this line publishes the batch again; it can never lose it.
      settled = await this.#settle(token, outcomes);
    }
    return summarise(outcomes, settled);
  }

  /** Claiming rows that nothing can publish would only hold them back from other dispatchers. */
  #assertNotStuck(): void {
    if (!this.#slots.stuck) return;
    throw new OutboxError(
      'PUBLISHER_STUCK',
      `all ${this.#config.concurrency} publishes that may run at once timed out and have not ended; the publisher must end when context.signal aborts`,
    );
  }

  /** As many lanes as may publish at once share the rows. What none of them could start is given back. */
  async #publishAll(rows: readonly OutboxRow[], bounds: PublishBounds, outcomes: Outcome[]): Promise<void> {
    const queue = new BatchQueue(rows);
    const lane = (): Promise<void> => this.#runLane(queue, bounds, outcomes);
    await Promise.all(Array.from({ length: Math.min(this.#config.concurrency, rows.length) }, lane));
    for (const row of queue.waiting) outcomes.push(released(row));
  }

  /** Publishes one row after another, in order, as long as it has a slot and there are rows that may start. */
  async #runLane(queue: BatchQueue, bounds: PublishBounds, outcomes: Outcome[]): Promise<void> {
    if (!(await this.#slots.acquire())) return;
    for (let row = queue.take(); row; row = queue.take()) {
      const before = queue.isHeldBack(row) ? released(row) : this.#verdictBefore(row);
      // Awaiting what is no Promise would cost every row a turn of the queue.
      const verdict: Outcome | undefined = before instanceof Promise ? await before : before;
      const unpublished = verdict ?? (bounds.lease.holds(row.id) ? undefined : released(row));
      const end = unpublished ?? (await publishBounded(row, this.#publish, bounds));
      const outcome = 'published' in end ? this.#outcomeOf(end, row) : end;
      outcomes.push(outcome);
      queue.ended(row, outcome);
      // A publisher that does not end keeps our slot; we go on when it ends after all, or with another one.
      if ('published' in end && end.keepsSlot && !(await this.#slots.acquire())) return;
    }
    this.#slots.release({ overdue: false });
  }

  /** What becomes of a row before anything is published; a Promise only where a schema has to be asked. */
  #verdictBefore(row: OutboxRow): Outcome | undefined | Promise<Outcome | undefined> {
    return (
      condemned(row, this.#config) ?? (this.#pipeline.hasSchema(row.topic) ? this.#misfit(row) : undefined)
    );
  }

  async #misfit(row: OutboxRow): Promise<Outcome | undefined> {
    try {
      const problem = await this.#pipeline.schemaProblem(row.topic, row.payload);
      return problem === undefined ? undefined : undecodable(row, `payload: ${problem}`);
    } catch (error) {
      return this.#failure(error, row);
    }
  }

  #outcomeOf(end: PublishEnd, row: OutboxRow): Outcome {
    return end.published ? { id: row.id, kind: 'dispatched' } : this.#failure(end.error, row);
  }

  #failure(error: unknown, row: OutboxRow): Outcome {
    return outcomeOfError(error, row, this.#config, this.#random);
  }

  /** If the whole can't be recorded, what was published still is: that saves a duplicate of each. */
  async #settle(token: string, outcomes: readonly Outcome[]): Promise<string[]> {
    try {
      return await this.#store.settle(token, outcomes);
    } catch (error) {
      const dispatched = outcomes.filter(({ kind }) => kind === 'dispatched');
      const isWorthATry = dispatched.length > 0 && dispatched.length < outcomes.length;
      // The first error is the one to know; where this fails too, it fails for the same reason.
      if (isWorthATry) await this.#store.settle(token, dispatched).catch(() => []);
      throw error;
    }
  }
}

/** Own properties only, so that an interceptor can hand on `{ ...context, attempt: 9 }`. */
function spreadable(context: PublishContext): PublishContext {
  return {
    attempt: context.attempt,
    get signal() {
      return context.signal;
    },
  };
}

function released({ id }: OutboxRow): Outcome {
  return { id, kind: 'released' };
}

function summarise(outcomes: readonly Outcome[], settled: readonly string[]): DispatchSummary {
  const ours = new Set(settled);
  const counts = { dispatched: 0, failed: 0, dead: 0, released: 0, fenced: 0 };
  for (const { id, kind } of outcomes) counts[ours.has(id) ? kind : 'fenced'] += 1;
  const { dispatched, failed, dead, fenced } = counts;
  return { fetched: outcomes.length, dispatched, failed, dead, fenced };
}
