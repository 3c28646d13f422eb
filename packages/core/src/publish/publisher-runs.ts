import { errorText } from '../message/error-text.js';
import { OutboxError } from '../message/errors.js';
import { StartsOnDemand, type StopOptions } from '../modules/lifecycle.js';
import { nameToken } from '../modules/token.js';
import type { DispatchEvents } from '../observe/dispatch-events.js';
import { endsWithin, systemClock } from '../runtime/timing.js';
import { absenceOf } from './absence.js';
import type {
  OutboxPublisher,
  PublisherCheckContext,
  PublisherHealth,
  PublisherProblem,
} from './outbox-publisher.js';
import { type FinalPublisher, finalPublishers } from './publisher-routes.js';

/** A broker that leaves a connection attempt unanswered counts as away. */
const START_LIMIT_MS = 10_000;

/** The health of one publisher. */
export interface NamedPublisherHealth extends PublisherHealth {
  readonly name: string;
}

interface Started {
  readonly name: string;
  ready: Promise<void>;
  isReady: boolean;
}

/** Starts every publisher once, before its first row, and stops those it has started. */
export class PublisherRuns extends StartsOnDemand {
  static {
    nameToken(this, '@postcommit/core/PublisherRuns');
  }

  readonly #events: DispatchEvents;
  readonly #context: PublisherCheckContext;
  readonly #started = new Map<OutboxPublisher, Started>();
  /** Publishers whose broker was away when they started. */
  readonly #unchecked = new Map<OutboxPublisher, string>();
  #unsubscribe: (() => void) | undefined;

  constructor(events: DispatchEvents, context: PublisherCheckContext) {
    super();
    this.#events = events;
    this.#context = context;
  }

  /**
   * Starts the publishers behind this one. Does nothing for those that have started.
   *
   * @throws `INVALID_CONFIG` for a required problem, and any error of a publisher that is not about an absent broker.
   */
  async start(publisher: OutboxPublisher): Promise<void> {
    const all = finalPublishers(publisher).map((final) => this.#startOnce(final).ready);
    await Promise.all(all);
  }

  /** Whether `start` has nothing left to do. */
  areReady(publisher: OutboxPublisher): boolean {
    return finalPublishers(publisher).every(
      ({ publisher: final }) => !hasStart(final) || this.#started.get(final)?.isReady,
    );
  }

  /** Stops what was started, and reports every error. */
  async stop(options: StopOptions): Promise<void> {
    const started = [...this.#started.keys()];
    this.#started.clear();
    this.#unchecked.clear();
    this.#unsubscribe?.();
    this.#unsubscribe = undefined;
    const results = await Promise.allSettled(started.map((publisher) => publisher.stop?.(options)));
    const errors = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
    if (errors.length === 1) throw errors[0];
    if (errors.length > 1) throw new AggregateError(errors, 'several publishers failed to stop');
  }

  /** What the publishers that have started say about their connections. */
  health(): NamedPublisherHealth[] {
    return [...this.#started].flatMap(([publisher, { name }]) =>
      publisher.health ? [{ name, ...publisher.health() }] : [],
    );
  }

  #startOnce({ publisher, name }: FinalPublisher): Started {
    const known = this.#started.get(publisher);
    if (known) return known;
    const started: Started = { name, ready: Promise.resolve(), isReady: false };
    this.#started.set(publisher, started);
    started.ready = this.#run(publisher, started);
    return started;
  }

  async #run(publisher: OutboxPublisher, started: Started): Promise<void> {
    const starting = this.#startAndCheck(publisher, started.name);
    try {
      if (!(await endsWithin(START_LIMIT_MS, starting, systemClock))) {
        starting.catch((error) => this.#away(publisher, started.name, error));
        this.#away(publisher, started.name, new Error(`no answer for ${START_LIMIT_MS} ms`));
      }
      started.isReady = true;
    } catch (error) {
      // The next call tries again: the configuration may be right by then.
      if (this.#started.get(publisher) === started) this.#started.delete(publisher);
      throw error;
    }
  }

  async #startAndCheck(publisher: OutboxPublisher, name: string): Promise<void> {
    try {
      await publisher.start?.();
      await this.#check(publisher, name);
    } catch (error) {
      if (!absenceOf(error)) throw error;
      this.#away(publisher, name, error);
    }
  }

  async #check(publisher: OutboxPublisher, name: string): Promise<void> {
    const problems = (await publisher.check?.(this.#context)) ?? [];
    const required = problems.filter(({ level }) => level === 'required');
    if (required.length > 0) throw misconfigured(name, required);
    for (const problem of problems) this.#events.emit('publisherProblem', { publisher: name, ...problem });
  }

  /** Its rows wait, and its settings are checked when the first of them has got through. */
  #away(publisher: OutboxPublisher, name: string, error: unknown): void {
    if (!this.#started.has(publisher)) return;
    this.#unchecked.set(publisher, name);
    this.#unsubscribe ??= this.#events.on('available', () => this.#checkLate());
    this.#events.emit('publisherProblem', {
      publisher: name,
      level: 'warning',
      problem: `not reachable at the start: ${errorText(error)}`,
      fix: 'nothing to do if it comes back: rows wait for it and keep their attempts',
    });
  }

  async #checkLate(): Promise<void> {
    const unchecked = [...this.#unchecked];
    this.#unchecked.clear();
    for (const [publisher, name] of unchecked) {
      try {
        await this.#check(publisher, name);
      } catch (error) {
        const fix = 'fix it, and restart';
        this.#events.emit('publisherProblem', {
          publisher: name,
          level: 'required',
          problem: errorText(error),
          fix,
        });
      }
    }
  }
}

function hasStart({ start, check }: OutboxPublisher): boolean {
  return start !== undefined || check !== undefined;
}

function misconfigured(name: string, problems: readonly PublisherProblem[]): OutboxError {
  const list = problems.map(({ problem, fix }) => `${problem} (to fix it: ${fix})`).join('; ');
  return new OutboxError('INVALID_CONFIG', `publisher ${name}: ${list}`);
}
