import { ClaimLease } from './claim-lease.js';
import { type Clock, systemClock } from './clock.js';
import { outcomeOfError } from './decide.js';
import { EnqueuePipeline } from './enqueue.js';
import { OutboxError } from './errors.js';
import { intercept, type OutboxInterceptor, type PublishStep } from './interceptors.js';
import { nameToken } from './modules/token.js';
import { assertPublishFitsClaim, type OutboxConfig, resolveConfig } from './outbox-config.js';
import { type OutboxPublisher, type PublishFunction, toPublisher } from './outbox-publisher.js';
import type { OutboxRow } from './outbox-row.js';
import { assertLimit, type OutboxStore } from './outbox-store.js';
import type { Outcome } from './outcome.js';
import { publishBounded } from './publish-bounded.js';
import { PublishSlots } from './publish-slots.js';
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
    const layers = this.#interceptors.map((interceptor) => interceptor.publish?.bind(interceptor));
    const publish = intercept(layers, (row, context) => publisher.publish(row, context));
    // Async, so that what throws before it has a promise to reject fails its row and nothing else.
    return async (row, context) => publish(row, context);
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
    const outcomes: Outcome[] = [];
    let settled: string[] = [];
    try {
      await this.#publishAll(rows, lease, outcomes);
    } finally {
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

  /** Starts rows in order as slots come free, passing over those whose key is being published. */
  async #publishAll(rows: readonly OutboxRow[], lease: ClaimLease, outcomes: Outcome[]): Promise<void> {
    const waiting = [...rows];
    const running = new Map<OutboxRow, Promise<void>>();
    const busyKeys = new Set<string>();
    const heldBackKeys = new Set<string>();
    while (waiting.length > 0) {
      const index = waiting.findIndex(({ key }) => key === undefined || !busyKeys.has(key));
      if (index < 0) {
        await Promise.race(running.values());
        continue;
      }
      const granted = this.#slots.acquire();
      if (!(granted === true || (await granted))) break;
      const [row] = waiting.splice(index, 1) as [OutboxRow];
      if (row.key !== undefined) busyKeys.add(row.key);
      const run = this.#publishOne(row, lease, heldBackKeys).then((outcome) => {
        outcomes.push(outcome);
        running.delete(row);
        if (row.key === undefined) return;
        busyKeys.delete(row.key);
        // A failed or unpublished row comes first again: its followers must not overtake it.
        if (outcome.kind === 'failed' || outcome.kind === 'released') heldBackKeys.add(row.key);
      });
      running.set(row, run);
    }
    for (const { id } of waiting) outcomes.push({ id, kind: 'released' });
    await Promise.all(running.values());
  }

  /** Owns one slot from here on. Never rejects. */
  async #publishOne(row: OutboxRow, lease: ClaimLease, heldBackKeys: ReadonlySet<string>): Promise<Outcome> {
    let verdict: Outcome | undefined;
    try {
      verdict =
        row.key !== undefined && heldBackKeys.has(row.key) ? released(row) : await this.#verdictBefore(row);
      if (!verdict && !lease.holds(row.id)) verdict = released(row);
    } catch (error) {
      verdict = this.#failure(error, row);
    }
    if (verdict) {
      this.#slots.release({ overdue: false });
      return verdict;
    }
    return publishBounded(row, {
      publish: this.#publish,
      timeoutMs: this.#config.publishTimeoutMs,
      lease,
      slots: this.#slots,
      clock: this.#clock,
    }).then(
      () => ({ id: row.id, kind: 'dispatched' }),
      (error: unknown) => this.#failure(error, row),
    );
  }

  /** What is wrong with a row before anything is published. */
  async #verdictBefore(row: OutboxRow): Promise<Outcome | undefined> {
    const dead = { id: row.id, kind: 'dead', untried: true } as const;
    if (row.undecodable !== undefined) return { ...dead, reason: 'undecodable', error: row.undecodable };
    if (row.retakes >= this.#config.maxRetakes) {
      const error = `its claim expired ${row.retakes} times in a row: the process may have died of it each time`;
      return { ...dead, reason: 'crashed', error };
    }
    const maxAttempts = row.retry.maxAttempts ?? this.#config.maxAttempts;
    if (row.attempts >= maxAttempts) {
      const error = row.lastError ?? `attempts (${row.attempts}) had reached the limit of ${maxAttempts}`;
      return { ...dead, reason: 'exhausted', error };
    }
    const problem = await this.#pipeline.schemaProblem(row.topic, row.payload);
    return problem === undefined
      ? undefined
      : { ...dead, reason: 'undecodable', error: `payload: ${problem}` };
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
      if (dispatched.length > 0 && dispatched.length < outcomes.length)
        await this.#store.settle(token, dispatched);
      throw error;
    }
  }
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
