import { DISPATCHER_NAMES, DispatchEngine, type DispatcherOptions } from '../dispatch/dispatch-engine.js';
import { errorText } from '../message/error-text.js';
import { OutboxError } from '../message/errors.js';
import { assertKnownOptions, type OptionNames } from '../message/known-options.js';
import { systemClock } from '../modules/clock.js';
import { assertGrace, DEFAULT_GRACE_MS, STOP_NAMES, type StopOptions } from '../modules/lifecycle.js';
import { nameToken } from '../modules/token.js';
import { DispatchEvents } from '../observe/dispatch-events.js';
import type { OutboxPublisher, PublishFunction } from '../publish/outbox-publisher.js';
import type { OutboxStore } from '../store/outbox-store.js';
import type { OutboxWakeup } from '../store/outbox-wakeup.js';
import { BacklogWatch } from './backlog-watch.js';
import { StoreTrouble } from './store-trouble.js';
import { resolveWorkerConfig, WORKER_CONFIG_NAMES, type WorkerConfig } from './worker-config.js';
import { WorkerRun, type WorkerRunOptions } from './worker-run.js';

export interface WorkerOptions extends DispatcherOptions, Partial<WorkerConfig> {
  /** Wakes the worker when rows were enqueued elsewhere. Without one it polls, and hears of its own process's. */
  readonly wakeup?: OutboxWakeup | undefined;
}

export interface WorkerHealth {
  /** `down`: the store did not answer the last time it was asked. */
  readonly status: 'up' | 'down' | 'stopped';
  /** Since the last poll that the store answered; absent before the first. */
  readonly lastPollAgeMs?: number;
  /** How long the row that waits longest has been due; absent when the store does not answer. */
  readonly oldestPendingAgeMs?: number;
  /** Rows that are claimed here and not settled. */
  readonly rowsInFlight: number;
  /** Whether hints of other processes arrive; where not, the worker polls. */
  readonly isListening: boolean;
  readonly error?: string;
}

const WORKER_NAMES: OptionNames<WorkerOptions> = {
  ...DISPATCHER_NAMES,
  ...WORKER_CONFIG_NAMES,
  wakeup: true,
};

/** A store that has not answered by then is down. */
const HEALTH_MS = 5_000;

/**
 * Publishes continuously: claims due rows, publishes them and records what became of each, until it is stopped.
 *
 * One claim is sent at a time, and the next follows while there is room. When the database goes away in the middle of
 * a batch, its publishes go on and its settle is repeated while the claim lives; claims are retried with growing waits.
 * What could not be settled in time is published again, by this worker or another, after its claim expired.
 */
export class OutboxWorker {
  static {
    nameToken(this, '@postcommit/core/OutboxWorker');
  }

  /** What it emits, for logs and alerts. */
  readonly events: DispatchEvents;
  readonly #store: OutboxStore;
  readonly #options: WorkerRunOptions;
  readonly #wakeup: OutboxWakeup | undefined;
  readonly #backlog: BacklogWatch | undefined;
  #run: WorkerRun | undefined;
  #unsubscribe: () => Promise<void> = async () => {};
  #stopping: Promise<string[]> | undefined;
  #isListening = false;

  constructor(store: OutboxStore, publisher: OutboxPublisher | PublishFunction, options: WorkerOptions = {}) {
    assertKnownOptions('OutboxWorker', options, WORKER_NAMES);
    const { wakeup, pollIntervalMs, batchesInFlight, maxBytesInFlight, backlogThreshold, ...dispatching } =
      options;
    const config = resolveWorkerConfig({
      ...(pollIntervalMs !== undefined && { pollIntervalMs }),
      ...(batchesInFlight !== undefined && { batchesInFlight }),
      ...(maxBytesInFlight !== undefined && { maxBytesInFlight }),
      ...(backlogThreshold !== undefined && { backlogThreshold }),
    });
    const { events = new DispatchEvents(), clock = systemClock, random = Math.random } = dispatching;
    this.events = events;
    this.#store = store;
    this.#wakeup = wakeup;
    this.#options = {
      engine: new DispatchEngine(store, publisher, { ...dispatching, events }),
      trouble: new StoreTrouble(events, clock, random),
      config,
      events,
      clock,
    };
    if (backlogThreshold !== undefined)
      this.#backlog = new BacklogWatch(store, events, clock, backlogThreshold);
  }

  /** Starts working; harmless when it already does. A worker that was stopped can be started again. */
  start(): void {
    if (this.#stopping !== undefined)
      throw new OutboxError('INVALID_ARGUMENT', 'the worker is being stopped: await stop() before start()');
    if (this.#run) return;
    this.#unsubscribe = this.#subscribe();
    this.#backlog?.start();
    this.events.emit('started', {});
    this.#run = new WorkerRun(this.#options);
  }

  /**
   * Stops working. Rows whose publish has not started are released at once; publishes that are running have `graceMs`
   * (default 10 s) to end, then their signal aborts. Returns the ids that had to be abandoned: their claims expire by
   * themselves. When there are none, nothing more is published and no timer or listener remains.
   */
  async stop(options: StopOptions = {}): Promise<string[]> {
    assertKnownOptions('stop', options, STOP_NAMES, 'INVALID_ARGUMENT');
    assertGrace(options.graceMs);
    this.#stopping ??= this.#stop(options.graceMs ?? DEFAULT_GRACE_MS).finally(() => {
      this.#stopping = undefined;
    });
    return this.#stopping;
  }

  /** For a health check; asks the store. */
  async health(): Promise<WorkerHealth> {
    const { trouble, engine } = this.#options;
    const { lastAnswerAgeMs } = trouble;
    const isRunning = this.#run !== undefined && this.#stopping === undefined;
    const known = {
      rowsInFlight: this.#run?.rowsInFlight ?? 0,
      isListening: this.#isListening,
      ...(lastAnswerAgeMs !== undefined && { lastPollAgeMs: lastAnswerAgeMs }),
    };
    try {
      const { oldestPendingAgeMs } = await engine.calls.within(HEALTH_MS, 'health', this.#store.backlog(1));
      if (!isRunning) return { status: 'stopped', ...known, oldestPendingAgeMs };
      if (!trouble.current) return { status: 'up', ...known, oldestPendingAgeMs };
      return { status: 'down', ...known, oldestPendingAgeMs, error: errorText(trouble.current.error) };
    } catch (error) {
      return { status: isRunning ? 'down' : 'stopped', ...known, error: errorText(error) };
    }
  }

  #subscribe(): () => Promise<void> {
    const stopListening = this.#wakeup?.subscribe({
      onHint: () => this.#run?.hint('after-commit'),
      onStatus: (status) => {
        this.#isListening = status.isListening;
        this.events.emit('wakeup', status);
      },
    });
    const stopHearing = this.#store.onEnqueue(() => this.#run?.hint('before-commit'));
    return async () => {
      stopHearing();
      await stopListening?.();
    };
  }

  async #stop(graceMs: number): Promise<string[]> {
    if (!this.#run) return [];
    this.#backlog?.stop();
    const unsubscribed = this.#unsubscribe().catch(() => {});
    const abandoned = await this.#run.stop(graceMs, unsubscribed);
    this.#run = undefined;
    this.#isListening = false;
    this.events.emit('stopped', { abandoned });
    return abandoned;
  }
}
