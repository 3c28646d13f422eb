import { errorText } from '../message/error-text.js';
import { OutboxError } from '../message/errors.js';
import { DEFAULT_GRACE_MS, type StopOptions } from '../modules/lifecycle.js';
import { endsWithin, systemClock } from '../runtime/timing.js';
import { absenceOf } from './absence.js';
import type {
  OutboxPublisher,
  PublisherCheckContext,
  PublisherHealth,
  PublisherProblem,
} from './outbox-publisher.js';
import { misconfigured, PublisherCheck } from './publisher-check.js';
import type { FinalPublisher } from './publisher-routes.js';

/** A broker that leaves a connection attempt unanswered counts as away. */
const START_LIMIT_MS = 10_000;
/** What a stop may take after its grace period, such as to close a connection. */
const CLOSE_LIMIT_MS = 5_000;

/** The health of one publisher. */
export interface NamedPublisherHealth extends PublisherHealth {
  readonly name: string;
}

/** What a run needs to know about its surroundings. */
export interface RunContext extends PublisherCheckContext {
  report(publisher: string, problem: PublisherProblem): void;
  /** Whether the publisher has been started again since. */
  isStartedAgain(publisher: OutboxPublisher): boolean;
}

/** One publisher, from its start to its stop. */
export class PublisherRun {
  readonly name: string;
  /** Resolves when rows may be published, even if the broker is away. */
  readonly ready: Promise<void>;
  readonly #publisher: OutboxPublisher;
  readonly #context: RunContext;
  readonly #check: PublisherCheck;
  readonly #starting: Promise<void>;
  #hasBegun = false;
  #isReady = false;
  #isStopped = false;

  /** Starts when `before` has settled. */
  constructor({ publisher, name }: FinalPublisher, before: Promise<unknown>, context: RunContext) {
    this.name = name;
    this.#publisher = publisher;
    this.#context = context;
    this.#check = new PublisherCheck(publisher, context, (problem) => {
      if (!this.#isStopped) context.report(name, problem);
    });
    this.#starting = this.#start(before);
    this.ready = this.#becomeReady();
  }

  /** Checks the settings of a broker that was away at the start, if it answers now. */
  checkLate(): Promise<void> {
    return this.#check.runLate();
  }

  /** Undefined if the publisher has nothing to say. */
  health(): NamedPublisherHealth | undefined {
    if (!this.#publisher.health) return undefined;
    try {
      return { name: this.name, ...this.#publisher.health() };
    } catch (error) {
      return { name: this.name, isConnected: false, problem: errorText(error) };
    }
  }

  /**
   * Waits for the start and stops the publisher. A start that hangs is not waited for: if it ends later, the publisher is
   * stopped again.
   */
  async stop(options: StopOptions): Promise<void> {
    this.#isStopped = true;
    const { graceMs = DEFAULT_GRACE_MS } = options;
    const hasStarted = await endsWithin(graceMs, this.#starting.catch(noop), systemClock);
    if (!hasStarted) this.#stopLate();
    const limitMs = graceMs + CLOSE_LIMIT_MS;
    if (await endsWithin(limitMs, this.#close(options), systemClock)) return;
    throw new OutboxError('PUBLISHER_STUCK', `publisher ${this.name} did not stop within ${limitMs} ms`);
  }

  async #becomeReady(): Promise<void> {
    try {
      if (!(await endsWithin(START_LIMIT_MS, this.#starting, systemClock)))
        this.#check.away(new Error(`no answer for ${START_LIMIT_MS} ms`));
      this.#isReady = true;
    } catch (error) {
      this.#isStopped = true;
      // It may have connected before it found out that its configuration is wrong. That is the error to report.
      await endsWithin(CLOSE_LIMIT_MS, this.#close({ graceMs: 0 }).catch(noop), systemClock);
      throw error;
    }
  }

  async #start(before: Promise<unknown>): Promise<void> {
    await before;
    if (this.#isStopped) return;
    this.#hasBegun = true;
    try {
      await this.#publisher.start?.();
      await this.#check.run((required) => {
        if (!this.#isReady) throw misconfigured(this.name, required);
      });
    } catch (error) {
      if (absenceOf(error)) this.#check.away(error);
      else if (this.#isReady) this.#check.failed(error);
      else throw error;
    }
  }

  #stopLate(): void {
    const stopAgain = async (): Promise<void> => {
      if (!this.#context.isStartedAgain(this.#publisher)) await this.#close({ graceMs: 0 });
    };
    this.#starting
      .catch(noop)
      .then(stopAgain)
      .catch((error) => {
        const problem = `publisher ${this.name} started after the stop and could not be stopped again`;
        process.emitWarning(`${problem}: ${errorText(error)}`, 'OutboxWarning');
      });
  }

  async #close(options: StopOptions): Promise<void> {
    if (this.#hasBegun) await this.#publisher.stop?.(options);
  }
}

function noop(): void {}
