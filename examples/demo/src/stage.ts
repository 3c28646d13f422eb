import { setTimeout as sleep } from 'node:timers/promises';
import { PgOutboxStore } from '@postcommit/store-pg';
import type pg from 'pg';
import type { Broker } from './broker.js';
import { type Counters, readCounters } from './counters.js';
import { DispatcherProcess, type DispatcherReport } from './dispatcher-process.js';
import { Producers } from './producers.js';
import type { Screen } from './screen.js';

export interface StageOptions {
  readonly pool: pg.Pool;
  readonly broker: Broker;
  /** For the dispatchers' processes. */
  readonly environment: NodeJS.ProcessEnv;
  readonly screen: Screen;
  /** Aborts when the demo is interrupted. */
  readonly signal: AbortSignal;
  /** Multiplies the pauses that are made for the eye: 1 for a person, less for a test. */
  readonly pace: number;
}

const POLL_MS = 20;
/** What has not come about by then never will: the proof tells what is missing. */
const PATIENCE_MS = 60_000;
/** A consumer has what was confirmed to the dispatchers, or gets it in a moment. */
const ARRIVAL_MS = 10_000;

/** All that the story is played with, and the waiting in it. */
export class Stage {
  readonly pool: pg.Pool;
  readonly screen: Screen;
  readonly store: PgOutboxStore;
  readonly broker: Broker;
  readonly producers: Producers;
  /** What a dispatcher reports about a publish that failed and will be tried again. */
  onFailedTry: (tried: Extract<DispatcherReport, { kind: 'failed' }>) => void = () => {};
  #failedTries = 0;
  #outages = 0;
  readonly #environment: NodeJS.ProcessEnv;
  readonly #pace: number;
  readonly #failure = new AbortController();
  readonly #signal: AbortSignal;
  readonly #dispatchers: DispatcherProcess[] = [];

  constructor({ pool, broker, environment, screen, signal, pace }: StageOptions) {
    this.pool = pool;
    this.screen = screen;
    this.store = new PgOutboxStore(pool);
    this.broker = broker;
    this.producers = new Producers(pool, this.store);
    this.#environment = environment;
    this.#pace = pace;
    this.#signal = AbortSignal.any([signal, this.#failure.signal]);
  }

  /** Resolves when the process works. */
  async startDispatcher(name: string): Promise<DispatcherProcess> {
    let isReady = false;
    const dispatcher = new DispatcherProcess(name, this.#environment, {
      report: (message) => {
        if (message.kind === 'ready') isReady = true;
        if (message.kind === 'unavailable') this.#outages += 1;
        if (message.kind === 'failed' || message.kind === 'dead') this.#failedTries += 1;
        if (message.kind === 'failed') this.onFailedTry(message);
      },
      crashed: (error) => this.fail(error),
    });
    this.#dispatchers.push(dispatcher);
    await this.until(() => isReady);
    return dispatcher;
  }

  /** Ends every wait with this error. */
  fail(error: unknown): void {
    this.#failure.abort(error);
  }

  counters(): Promise<Counters> {
    return readCounters(this.pool, {
      rolledBack: this.producers.rolledBack.length,
      failedTries: this.#failedTries,
    });
  }

  /** Whether a dispatcher has met the outage. */
  async isOutageFelt(): Promise<boolean> {
    return this.broker.costsTries ? (await this.counters()).failedTries > 0 : this.#outages > 0;
  }

  /** The ledger of a real broker is written by its consumer, a moment after the confirmation. */
  async untilDelivered(): Promise<void> {
    if (this.broker.costsTries) return;
    await this.until(async () => {
      const { committed, delivered } = await this.counters();
      return delivered >= committed;
    }, ARRIVAL_MS);
  }

  async pause(ms: number): Promise<void> {
    await this.#sleep(ms * this.#pace);
  }

  async until(isReached: () => boolean | Promise<boolean>, patienceMs = PATIENCE_MS): Promise<void> {
    const deadline = performance.now() + patienceMs;
    while (!(await isReached()) && performance.now() < deadline) await this.#sleep(POLL_MS);
  }

  /** Keeps the counters on the screen while `work` goes on; afterwards no process is left. */
  async during<T>(work: () => Promise<T>): Promise<T> {
    const ended = new AbortController();
    const watched = this.#watch(ended.signal).catch((error) => this.fail(error));
    try {
      return await work();
    } finally {
      this.producers.stop();
      await Promise.all(this.#dispatchers.map((dispatcher) => dispatcher.kill()));
      ended.abort();
      await watched;
    }
  }

  async #watch(ended: AbortSignal): Promise<void> {
    while (!ended.aborted) {
      await sleep(this.screen.refreshMs, undefined, { signal: ended }).catch(() => {});
      const isAKilled = this.#dispatchers.some(({ wasKilled }) => wasKilled);
      this.screen.show(await this.counters(), isAKilled);
    }
  }

  async #sleep(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#signal }).catch(() => this.#signal.throwIfAborted());
  }
}
