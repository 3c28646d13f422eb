import type { ClaimedBatch } from '../dispatch/claimed-batch.js';
import { DISPATCHER_NAMES, DispatchEngine, type DispatcherOptions } from '../dispatch/dispatch-engine.js';
import type { DispatchSummary } from '../dispatch/outbox-dispatcher.js';
import { errorText } from '../message/error-text.js';
import { OutboxError } from '../message/errors.js';
import { assertKnownOptions, type OptionNames } from '../message/known-options.js';
import { assertGrace, DEFAULT_GRACE_MS, STOP_NAMES, type StopOptions } from '../modules/lifecycle.js';
import { nameToken } from '../modules/token.js';
import { endsWithin } from '../observe/clock.js';
import type { OutboxSignals } from '../observe/outbox-signals.js';
import type { OutboxPublisher, PublishFunction } from '../publish/outbox-publisher.js';
import type { OutboxWakeup } from '../store/capabilities.js';
import type { OutboxStore } from '../store/outbox-store.js';
import { BacklogWatch } from './backlog-watch.js';
import { BatchesInFlight } from './batches-in-flight.js';
import { InFlightBudget } from './in-flight-budget.js';
import { Pause } from './pause.js';
import { type HintTime, PollPace, type PollResult } from './poll-pace.js';
import { StoreTrouble } from './store-trouble.js';
import { resolveWorkerConfig, WORKER_CONFIG_NAMES, type WorkerConfig } from './worker-config.js';

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

/** What a stop allows for recording what was published, after the grace for publishing. */
const SETTLE_GRACE_MS = 5_000;
/** A store that has not answered by then is down. */
const HEALTH_MS = 5_000;

/**
 * The continuous loop: claims due rows, publishes them and records what became of each, until it is stopped.
 *
 * One claim is sent at a time; the batch it brings then goes its own way (`ClaimedBatch`), and the next claim follows
 * while there is room. When the database goes away in the middle of a batch, its publishes go on and its settle is
 * repeated while the claim lives; claims are tried again with growing waits. What could not be settled in time is
 * published again, by this worker or another, after its claim expired.
 */
export class OutboxWorker {
  static {
    nameToken(this, '@postcommit/core/OutboxWorker');
  }

  /** What it tells, for logs and alerts. */
  readonly signals: OutboxSignals;
  readonly #engine: DispatchEngine;
  readonly #config: WorkerConfig;
  readonly #wakeup: OutboxWakeup | undefined;
  readonly #pace: PollPace;
  readonly #budget: InFlightBudget;
  readonly #trouble: StoreTrouble;
  readonly #backlog: BacklogWatch | undefined;
  readonly #inFlight = new BatchesInFlight();
  readonly #pause: Pause;
  #loop: Promise<void> | undefined;
  #stopping: Promise<string[]> | undefined;
  #isRunning = false;
  #currentRun: symbol | undefined;
  /** The last batch that ended published nothing: more of the same is not to be had at full speed. */
  #isFruitless = false;
  /** Batches whose end let others be claimed. */
  #endsThatFreed = 0;
  /** Ids that the stop which is under way could not bring to an end. */
  #lost = new Set<string>();
  #isListening = false;
  #unsubscribe: Array<() => void | Promise<void>> = [];

  constructor(store: OutboxStore, publisher: OutboxPublisher | PublishFunction, options: WorkerOptions = {}) {
    assertKnownOptions('OutboxWorker', options, WORKER_NAMES);
    const { wakeup, pollIntervalMs, batchesInFlight, maxBytesInFlight, backlogThreshold, ...dispatching } =
      options;
    this.#config = resolveWorkerConfig({
      ...(pollIntervalMs !== undefined && { pollIntervalMs }),
      ...(batchesInFlight !== undefined && { batchesInFlight }),
      ...(maxBytesInFlight !== undefined && { maxBytesInFlight }),
      ...(backlogThreshold !== undefined && { backlogThreshold }),
    });
    this.#engine = new DispatchEngine(store, publisher, dispatching);
    this.#wakeup = wakeup;
    this.signals = this.#engine.signals;
    this.#trouble = new StoreTrouble(this.signals, this.#engine.clock, this.#engine.random);
    this.#pace = new PollPace(this.#config.pollIntervalMs);
    this.#pause = new Pause(this.#engine.clock);
    this.#budget = new InFlightBudget(this.#config.maxBytesInFlight);
    if (backlogThreshold !== undefined)
      this.#backlog = new BacklogWatch(store, this.signals, this.#engine.clock, backlogThreshold);
  }

  /** Begins to work; harmless when it does already. A worker that was stopped can be started again. */
  start(): void {
    if (this.#isRunning) return;
    if (this.#stopping !== undefined)
      throw new OutboxError('INVALID_ARGUMENT', 'the worker is being stopped: await stop() before start()');
    this.#subscribe();
    this.#isRunning = true;
    this.#engine.slots.open();
    this.#backlog?.start();
    this.signals.tell('started', {});
    this.#loop = this.#run();
  }

  /**
   * Ends work. Claims whose publish has not begun are given back at once; publishes that run have `graceMs` (default
   * 10 s) to end, then their signal aborts. Gives the ids that had to be abandoned: their claims expire by themselves.
   * When there are none, nothing more is published and no timer or listener remains.
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
    const { calls, store } = this.#engine;
    const { lastAnswerAgeMs } = this.#trouble;
    const known = {
      rowsInFlight: this.#inFlight.rows,
      isListening: this.#isListening,
      ...(lastAnswerAgeMs !== undefined && { lastPollAgeMs: lastAnswerAgeMs }),
    };
    try {
      const { oldestPendingAgeMs } = await calls.within(HEALTH_MS, 'health', store.backlog(1));
      if (!this.#isRunning) return { status: 'stopped', ...known, oldestPendingAgeMs };
      const trouble = this.#trouble.current;
      if (!trouble) return { status: 'up', ...known, oldestPendingAgeMs };
      return { status: 'down', ...known, oldestPendingAgeMs, error: errorText(trouble.error) };
    } catch (error) {
      return { status: this.#isRunning ? 'down' : 'stopped', ...known, error: errorText(error) };
    }
  }

  async #run(): Promise<void> {
    const run = Symbol('run');
    this.#currentRun = run;
    // A claim that hung through a stop may answer after the next start: then another loop runs already.
    const isCurrent = (): boolean => this.#isRunning && this.#currentRun === run;
    while (isCurrent()) {
      const room = this.#room();
      const waitMs = room === 0 ? undefined : await this.#poll(room);
      if (isCurrent() && waitMs !== 0) await this.#pause.begin(waitMs);
    }
  }

  /** How many rows may be claimed now. */
  #room(): number {
    if (this.#inFlight.size >= this.#config.batchesInFlight) return 0;
    // A row that may have killed its process has this one for itself, so that it takes nobody along.
    if (this.#inFlight.hasSuspect) return 0;
    return this.#budget.room(this.#engine.config.batchSize);
  }

  /** Claims once. Gives the wait until the next claim. */
  async #poll(limit: number): Promise<number> {
    const endsThatFreed = this.#endsThatFreed;
    try {
      const batch = await this.#engine.claim(limit);
      this.#trouble.answered();
      if (batch) this.#send(batch, limit);
      // It was set free after this claim looked.
      else if (endsThatFreed !== this.#endsThatFreed) return 0;
      return this.#pace.afterPoll(this.#resultOf(batch, limit));
    } catch (error) {
      return this.#isRunning ? this.#trouble.failed(error) : 0;
    }
  }

  /** Beside a suspect, which comes alone, and beside keys, which have a share, more may be due than was claimed. */
  #resultOf(batch: ClaimedBatch | undefined, limit: number): PollResult {
    if (!batch || this.#isFruitless) return 'nothing';
    return batch.rows.length >= limit || batch.isSuspect || batch.hasKeys ? 'more' : 'all';
  }

  /** Lets a batch go its own way. After a stop its lanes get no slot, and it gives all its rows back. */
  #send(batch: ClaimedBatch, limit: number): void {
    const takeOff = this.#budget.add(batch.rows);
    let summary: Promise<DispatchSummary> | undefined;
    const run = (): Promise<DispatchSummary> => {
      summary = batch.run({ keepTrying: true });
      return summary;
    };
    const before = batch.isSuspect ? this.#inFlight.ended() : Promise.resolve();
    const end = before
      .then(() => this.#engine.dispatch(limit, run))
      .catch((error) => {
        for (const id of batch.unrecorded) this.#lost.add(id);
        this.signals.tell('trouble', { error, retryInMs: 0 });
      })
      // An interceptor may have failed before it called us, or not have waited for us.
      .then(() => Promise.allSettled([summary, batch.close()]))
      .then(([ended]) => {
        const { dispatched = 0, dead = 0 } = (ended.status === 'fulfilled' && ended.value) || {};
        this.#isFruitless = dispatched + dead === 0;
        // The next of a key can be claimed now, and what is to be tried again may be due already.
        const freed = !this.#isFruitless && (batch.hasKeys || dispatched + dead < batch.rows.length);
        if (freed) this.#endsThatFreed += 1;
        takeOff();
        this.#inFlight.remove(batch);
        if (freed || !this.#pause.isTimed) this.#pause.end();
      });
    this.#inFlight.add(batch, end);
  }

  #subscribe(): void {
    const onHint = (time: HintTime): void => {
      // While the store is in trouble its own waits count; while there is no room nothing can be claimed anyway.
      if (this.#pace.hint(time) && !this.#trouble.current) this.#pause.end();
    };
    this.#unsubscribe = [this.#engine.store.onEnqueue(() => onHint('early'))];
    if (!this.#wakeup) return;
    const end = this.#wakeup.subscribe({
      onHint: () => onHint('late'),
      onStatus: (status) => {
        this.#isListening = status.isListening;
        this.signals.tell('wakeup', status);
      },
    });
    this.#unsubscribe.push(end);
  }

  async #stop(graceMs: number): Promise<string[]> {
    if (!this.#isRunning) return [];
    this.#isRunning = false;
    const { calls, clock, lateClaims, slots } = this.#engine;
    slots.close();
    this.#backlog?.stop();
    this.#pause.end();
    const unsubscribed = Promise.allSettled(this.#unsubscribe.map(async (end) => end()));
    const lost = new Set<string>();
    this.#lost = lost;
    const given = this.#inFlight.giveBackUnstarted(lost);
    const quiet = Promise.all([this.#loop, unsubscribed, given]).then(() => this.#allDone());
    if (!(await endsWithin(graceMs, quiet, clock))) {
      const reason = new Error(`the worker was stopped, and ${graceMs} ms of grace are over`);
      for (const id of this.#inFlight.abandonRunning(reason)) lost.add(id);
      if (!(await endsWithin(SETTLE_GRACE_MS, quiet, clock)))
        for (const id of this.#inFlight.giveUpSettling()) lost.add(id);
    }
    calls.giveUp(new Error('the worker was stopped'));
    for (const id of lateClaims.ids) lost.add(id);
    // What timed out and goes on all the same may still have its effect.
    for (const ids of slots.stragglers) for (const id of ids) lost.add(id);
    this.#isListening = false;
    const abandoned = [...lost];
    this.signals.tell('stopped', { abandoned });
    return abandoned;
  }

  async #allDone(): Promise<void> {
    await this.#inFlight.allEnded();
    await this.#engine.lateClaims.returned();
  }
}
