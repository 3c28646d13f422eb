import { DISPATCHER_NAMES, DispatchEngine, type DispatcherOptions } from '../dispatch/dispatch-engine.js';
import { errorText } from '../message/error-text.js';
import { OutboxError } from '../message/errors.js';
import { assertKnownOptions, type OptionNames } from '../message/known-options.js';
import { assertGrace, DEFAULT_GRACE_MS, STOP_NAMES, type StopOptions } from '../modules/lifecycle.js';
import { nameToken } from '../modules/token.js';
import { type DispatchEventMap, DispatchEvents } from '../observe/dispatch-events.js';
import type { Outage } from '../publish/breaker.js';
import type { OutboxPublisher, PublishFunction } from '../publish/outbox-publisher.js';
import type { NamedPublisherHealth } from '../publish/publisher-run.js';
import { SILENT_AFTER_MS } from '../runtime/store-calls.js';
import { systemClock } from '../runtime/timing.js';
import type { OutboxStore } from '../store/outbox-store.js';
import type { OutboxWakeup } from '../store/outbox-wakeup.js';
import type { OutboxWorkers } from '../store/outbox-workers.js';
import { BacklogWatch } from './backlog-watch.js';
import { StoreTrouble } from './claim-pace.js';
import { EventLoopWatch } from './event-loop-watch.js';
import { resolveWorkerConfig, WORKER_CONFIG_NAMES, type WorkerConfig } from './worker-config.js';
import { WorkerRun, type WorkerRunOptions } from './worker-run.js';

export interface WorkerOptions extends DispatcherOptions, Partial<WorkerConfig> {
  /** Wakes the worker when other processes enqueue. Without it, the worker polls for their rows. */
  readonly wakeup?: OutboxWakeup | undefined;
  /** The workers that share the outbox. Without it, the claims of a worker that crashed have to expire. */
  readonly workers?: OutboxWorkers | undefined;
}

export interface WorkerHealth {
  /** `down`: the store did not answer the last poll or this check, or leaves a call unanswered for three seconds. */
  readonly status: 'up' | 'down' | 'stopped';
  /** Time since the store last answered a poll; absent before the first answer. */
  readonly lastPollAgeMs?: number;
  /** How long the oldest due row has been waiting; absent when the store does not answer. */
  readonly oldestPendingAgeMs?: number;
  /** Rows claimed by this worker and not settled yet. */
  readonly rowsInFlight: number;
  /** Destinations that are away: nothing is published to them. Absent if there are none. */
  readonly outages?: readonly Outage[];
  /** What the publishers say about their connections. Absent if none of them has one. */
  readonly publishers?: readonly NamedPublisherHealth[];
  /** Topics that are paused in all processes, as this worker last heard. Absent if there are none. */
  readonly pausedTopics?: readonly string[];
  /** Whether hints from other processes arrive. If not, the worker polls. */
  readonly isListening: boolean;
  /** Why the worker polls instead of listening; absent while it listens, or is stopped. */
  readonly pollingReason?: string;
  readonly error?: string;
}

const WORKER_NAMES: OptionNames<WorkerOptions> = {
  ...DISPATCHER_NAMES,
  ...WORKER_CONFIG_NAMES,
  wakeup: true,
  workers: true,
};

const HEALTH_TIMEOUT_MS = 5_000;

/**
 * Claims due rows, publishes them and records the outcomes, continuously until it is stopped.
 *
 * It sends one claim at a time, while fewer than `batchesInFlight` batches are in flight. If the database goes away
 * during a batch, publishes continue, the settle is retried until the claim expires, and claims are retried with
 * backoff. Rows that could not be settled in time are published again, by this worker or another, once their claim has
 * expired.
 *
 * @example
 * const worker = new OutboxWorker(store, (row) => broker.send(row.topic, row.payload));
 * worker.start();
 * await worker.stop();
 */
export class OutboxWorker {
  static {
    nameToken(this, '@postcommit/core/OutboxWorker');
  }

  /** Emits what happens to rows and to the worker, for logs and alerts. */
  readonly events: DispatchEvents;
  readonly #store: OutboxStore;
  readonly #options: WorkerRunOptions;
  readonly #wakeup: OutboxWakeup | undefined;
  readonly #backlog: BacklogWatch | undefined;
  readonly #eventLoop: EventLoopWatch;
  #run: WorkerRun | undefined;
  #unsubscribe: () => Promise<void> = async () => {};
  #stopping: Promise<string[]> | undefined;
  /** Why hints from other processes don't arrive; undefined while they do. */
  #pollingReason: string | undefined;

  constructor(store: OutboxStore, publisher: OutboxPublisher | PublishFunction, options: WorkerOptions = {}) {
    assertKnownOptions('OutboxWorker', options, WORKER_NAMES);
    const { wakeup, workers, ...both } = options;
    const {
      pollIntervalMs,
      batchesInFlight,
      maxBytesInFlight,
      takeoverAfterMs,
      backlogThreshold,
      ...dispatching
    } = both;
    const config = resolveWorkerConfig({
      ...(pollIntervalMs !== undefined && { pollIntervalMs }),
      ...(batchesInFlight !== undefined && { batchesInFlight }),
      ...(maxBytesInFlight !== undefined && { maxBytesInFlight }),
      ...(takeoverAfterMs !== undefined && { takeoverAfterMs }),
      ...(backlogThreshold !== undefined && { backlogThreshold }),
    });
    const { events = new DispatchEvents(), clock = systemClock, random = Math.random } = dispatching;
    // Due at once, as for a dispatcher, a row would be tried hundreds of times a second: the next call is at once too.
    const { backoff = { type: 'fixed', delayMs: config.pollIntervalMs } } = dispatching;
    this.events = events;
    this.#store = store;
    this.#wakeup = wakeup;
    this.#eventLoop = new EventLoopWatch(events, clock);
    this.#options = {
      engine: new DispatchEngine(
        store,
        publisher,
        { ...dispatching, backoff, events },
        config.pollIntervalMs,
      ),
      trouble: new StoreTrouble(events, clock, random),
      config,
      events,
      clock,
      random,
      workers,
      isListening: () => this.#isListening,
    };
    if (backlogThreshold !== undefined)
      this.#backlog = new BacklogWatch(store, events, clock, backlogThreshold);
  }

  /**
   * Starts the worker. Does nothing if it is running. A stopped worker can be started again.
   *
   * @throws `INVALID_ARGUMENT` while `stop()` is under way.
   */
  start(): void {
    if (this.#stopping !== undefined)
      throw new OutboxError('INVALID_ARGUMENT', 'the worker is being stopped: await stop() before start()');
    if (this.#run) return;
    const run = new WorkerRun(this.#options);
    this.#unsubscribe = this.#subscribe(run);
    this.#backlog?.start();
    this.#eventLoop.start();
    this.events.emit('started', {});
    if (!this.#wakeup) this.#emitWakeup({ isListening: false });
    this.#run = run;
    run.start();
  }

  /**
   * Stops the worker. Rows whose publish has not started are released at once. Running publishes have `graceMs`
   * (default 10 s) to finish; then their signal aborts. Returns the ids of abandoned rows, whose claims are left to
   * expire. If there are none, nothing more is published and no timer or listener remains.
   *
   * @throws `INVALID_ARGUMENT` for an invalid `graceMs`.
   */
  async stop(options: StopOptions = {}): Promise<string[]> {
    assertKnownOptions('stop', options, STOP_NAMES, 'INVALID_ARGUMENT');
    assertGrace(options.graceMs);
    this.#stopping ??= this.#stop(options.graceMs ?? DEFAULT_GRACE_MS).finally(() => {
      this.#stopping = undefined;
    });
    return this.#stopping;
  }

  /** Returns the state of the worker, for a health check. Queries the store; never rejects. */
  async health(): Promise<WorkerHealth> {
    const { trouble, engine } = this.#options;
    const { lastAnswerAgeMs } = trouble;
    const outages = engine.availability.outages();
    const publishers = engine.publishers.health();
    const pausedTopics = engine.pauses.list;
    const isRunning = this.#run !== undefined && this.#stopping === undefined;
    const silentMs = engine.calls.longestWaitMs;
    const pollingReason = this.#pollingReason;
    const known = {
      rowsInFlight: this.#run?.rowsInFlight ?? 0,
      isListening: this.#isListening,
      ...(isRunning && pollingReason !== undefined && { pollingReason }),
      ...(outages.length > 0 && { outages }),
      ...(publishers.length > 0 && { publishers }),
      ...(pausedTopics.length > 0 && { pausedTopics }),
      ...(lastAnswerAgeMs !== undefined && { lastPollAgeMs: lastAnswerAgeMs }),
    };
    try {
      const { oldestPendingAgeMs } = await engine.calls.within(
        HEALTH_TIMEOUT_MS,
        'health',
        this.#store.backlog(1),
      );
      if (!isRunning) return { status: 'stopped', ...known, oldestPendingAgeMs };
      const error = trouble.current ? errorText(trouble.current.error) : silence(silentMs);
      return {
        status: error === undefined ? 'up' : 'down',
        ...known,
        oldestPendingAgeMs,
        ...(error !== undefined && { error }),
      };
    } catch (error) {
      return { status: isRunning ? 'down' : 'stopped', ...known, error: errorText(error) };
    }
  }

  get #isListening(): boolean {
    return this.#run !== undefined && this.#pollingReason === undefined;
  }

  #subscribe(run: WorkerRun): () => Promise<void> {
    this.#pollingReason = this.#wakeup ? 'not listening yet' : 'the store has no wake-up';
    const stopListening = this.#wakeup?.subscribe({
      onHint: (kind = 'burst') => run.hintToAll(kind === 'commit' ? 'after-commit' : 'burst'),
      onStatus: (status) => {
        this.#pollingReason = status.isListening ? undefined : errorText(status.error);
        this.#emitWakeup(status);
      },
    });
    const stopWatchingStore = this.#store.onEnqueue(run.hint.bind(run, 'before-commit'));
    return async () => {
      stopWatchingStore();
      await stopListening?.();
    };
  }

  #emitWakeup(status: Omit<DispatchEventMap['wakeup'], 'pollIntervalMs'>): void {
    this.events.emit('wakeup', { ...status, pollIntervalMs: this.#options.config.pollIntervalMs });
  }

  async #stop(graceMs: number): Promise<string[]> {
    if (!this.#run) return [];
    this.#backlog?.stop();
    const unsubscribed = this.#unsubscribe().catch(() => {});
    const abandoned = await this.#run.stop(graceMs, unsubscribed);
    this.#eventLoop.stop();
    this.#run = undefined;
    try {
      await this.#options.engine.stopPublishers({ graceMs });
    } finally {
      this.events.emit('stopped', { abandoned });
    }
    return abandoned;
  }
}

/** Another connection may answer this check while the one that polls is silent. */
function silence(forMs: number): string | undefined {
  if (forMs < SILENT_AFTER_MS) return undefined;
  return `the store has left a call unanswered for ${Math.round(forMs)} ms`;
}
