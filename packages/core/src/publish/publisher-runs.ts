import { StartsOnDemand, type StopOptions } from '../modules/lifecycle.js';
import { nameToken } from '../modules/token.js';
import type { DispatchEvents } from '../observe/dispatch-events.js';
import { systemClock } from '../runtime/timing.js';
import type { OutboxPublisher, PublisherCheckContext } from './outbox-publisher.js';
import { type FinalPublisher, finalPublishers } from './publisher-routes.js';
import { type NamedPublisherHealth, PublisherRun, type RunContext } from './publisher-run.js';

/** Rows that get through somewhere are a reason to look for brokers that were away, but not for each batch. */
const LATE_CHECK_EVERY_MS = 5_000;

/** Starts every publisher once, before its first row, and stops those it has started. */
export class PublisherRuns extends StartsOnDemand {
  static {
    nameToken(this, '@postcommit/core/PublisherRuns');
  }

  readonly #events: DispatchEvents;
  readonly #context: RunContext;
  readonly #runs = new Map<OutboxPublisher, PublisherRun>();
  /** Publishers behind which everything has started. */
  readonly #ready = new Set<OutboxPublisher>();
  /** For these, `start` has nothing left to do. Looked at for each claim. */
  readonly ready: ReadonlySet<OutboxPublisher> = this.#ready;
  #stopping: Promise<unknown> = Promise.resolve();
  #unsubscribe: (() => void) | undefined;
  #checkedLateAtMs = Number.NEGATIVE_INFINITY;

  constructor(events: DispatchEvents, { redeliveryAfterMs }: PublisherCheckContext) {
    super();
    this.#events = events;
    this.#context = {
      redeliveryAfterMs,
      report: (publisher, problem) => events.emit('publisherProblem', { ...problem, publisher }),
      isStartedAgain: (publisher) => this.#runs.has(publisher),
    };
  }

  /**
   * Starts the publishers behind this one. Does nothing for those that have started; waits for a stop in progress.
   *
   * @throws `INVALID_CONFIG` for a required problem, and any error of a publisher that is not about an absent broker.
   * The publishers that could start remain started.
   */
  async start(publisher: OutboxPublisher): Promise<void> {
    const withLifeCycle = finalPublishers(publisher).filter((final) => hasLifeCycle(final.publisher));
    const runs = new Set(withLifeCycle.map((final) => this.#startOnce(final)));
    throwErrors(
      await Promise.allSettled([...runs].map(({ ready }) => ready)),
      'several publishers failed to start',
    );
    const current = new Set(this.#runs.values());
    // A stop may have come in between.
    if ([...runs].every((run) => current.has(run))) this.#ready.add(publisher);
  }

  /** Stops what was started, and reports every error. */
  async stop(options: StopOptions): Promise<void> {
    const runs = [...this.#runs.values()];
    this.#runs.clear();
    this.#ready.clear();
    this.#unsubscribe?.();
    this.#unsubscribe = undefined;
    const stopped = Promise.allSettled(runs.map((run) => run.stop(options)));
    this.#stopping = Promise.all([this.#stopping, stopped]);
    await this.#stopping;
    throwErrors(await stopped, 'several publishers failed to stop');
  }

  /** What the publishers that have started say about their connections. */
  health(): NamedPublisherHealth[] {
    return [...this.#runs.values()].flatMap((run) => run.health() ?? []);
  }

  #startOnce(final: FinalPublisher): PublisherRun {
    const known = this.#runs.get(final.publisher);
    if (known) return known;
    this.#watch();
    const run = new PublisherRun(final, this.#stopping, this.#context);
    this.#runs.set(final.publisher, run);
    run.ready.catch(() => {
      // The next call tries again: the configuration may be right by then.
      if (this.#runs.get(final.publisher) === run) this.#runs.delete(final.publisher);
    });
    return run;
  }

  /** Looks for signs that a broker that was away at the start is back. */
  #watch(): void {
    if (this.#unsubscribe) return;
    const unsubscribe = [
      this.#events.on('available', () => this.#checkLate()),
      this.#events.on('batch', ({ dispatched }) => {
        const sinceMs = systemClock.monotonicMs() - this.#checkedLateAtMs;
        return dispatched > 0 && sinceMs > LATE_CHECK_EVERY_MS ? this.#checkLate() : undefined;
      }),
    ];
    this.#unsubscribe = () => {
      for (const one of unsubscribe) one();
    };
  }

  async #checkLate(): Promise<void> {
    this.#checkedLateAtMs = systemClock.monotonicMs();
    await Promise.all([...this.#runs.values()].map((run) => run.checkLate()));
  }
}

function hasLifeCycle({ start, stop, check, health }: OutboxPublisher): boolean {
  return [start, stop, check, health].some((method) => method !== undefined);
}

function throwErrors(results: readonly PromiseSettledResult<unknown>[], several: string): void {
  const errors = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
  if (errors.length === 1) throw errors[0];
  if (errors.length > 1) throw new AggregateError(errors, several);
}
