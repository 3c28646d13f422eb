import { MemoryOutboxStore } from '@postcommit/store-memory';
import { MemoryOutboxWorkers } from '../../../store-memory/src/memory-outbox-workers.js';
import { OutboxDispatcher } from '../../src/dispatch/outbox-dispatcher.js';
import { EnqueuePipeline } from '../../src/enqueue/enqueue-pipeline.js';
import { DispatchEvents } from '../../src/observe/dispatch-events.js';
import type { OutboxInterceptor } from '../../src/observe/interceptors.js';
import { OutboxWorker } from '../../src/worker/outbox-worker.js';
import { BatchProcessPublisher, ProcessPublisher } from './process-publisher.js';
import { ProcessStore } from './process-store.js';
import { ProcessWorkers } from './process-workers.js';
import { drawSettings, type Settings } from './settings.js';
import { SimProcess } from './sim-process.js';
import type { World } from './world.js';

/** A place where one process runs: when it dies, another one comes, with the same settings. */
export class Host {
  readonly settings: Settings;
  readonly #world: World;
  readonly #name: string;
  #lives = 0;
  #process: SimProcess;
  #store: ProcessStore;
  #worker: OutboxWorker | undefined;

  constructor(world: World, name: string) {
    this.#world = world;
    this.#name = name;
    this.settings = drawSettings(world.random, world.people, world.isRegistered);
    this.#process = this.#newProcess();
    this.#store = this.#newStore();
  }

  get process(): SimProcess {
    return this.#process;
  }

  /** Undefined while there is none, or it is being stopped. */
  get runningWorker(): OutboxWorker | undefined {
    return this.#process.isStopping ? undefined : this.#worker;
  }

  hint(): void {
    this.#process.deliver(() => this.#store.hint());
  }

  boot(): void {
    if (this.#process.isDead) {
      this.#process = this.#newProcess();
      this.#store = this.#newStore();
    }
    this.#worker = undefined;
    this.#world.history.note(this.#process.name, 'boots', () => JSON.stringify(this.settings));
    this.#startEngine();
  }

  /** The process is dead. Another one comes after a while. */
  comeBack(): void {
    this.#world.clock.schedule(this.#world.random.between(50, 1_500), () => {
      if (this.#process.isDead) this.boot();
    });
  }

  /** Stops its worker as a deployment does; it is started again after a while, or its process gives way to another. */
  stop(graceMs: number, after: 'restart' | 'replace' | 'nothing'): Promise<void> {
    const worker = this.runningWorker;
    if (!worker) return Promise.resolve();
    const process = this.#process;
    process.stopToldMs = this.#world.clock.elapsedMs;
    const store = this.#store;
    this.#world.history.note(process.name, 'is told to stop', () => `within ${graceMs} ms`);
    let told: readonly string[] = [];
    const unsubscribe = worker.events.on('stopped', (signal) => {
      told = signal.abandoned;
    });
    return worker.stop({ graceMs }).then((abandoned) => {
      unsubscribe();
      if (told.join() !== abandoned.join())
        this.#world.history.violated('I12', `${process.name} told another list than its stop gave`);
      this.#world.stops.stopped(process, store, abandoned);
      this.#world.mutant?.afterStop?.(store, this.#tokensOf(process, abandoned));
      if (after !== 'nothing')
        this.#world.clock.schedule(this.#world.random.between(1, 1_500), () =>
          this.#goOn(process, worker, after),
        );
    });
  }

  #goOn(process: SimProcess, worker: OutboxWorker, after: 'restart' | 'replace'): void {
    if (process.isDead) return;
    if (after === 'replace') {
      this.#world.kill(process, { kind: 'killed' });
      return;
    }
    process.deliver(() => {
      this.#world.history.note(process.name, 'is started again');
      process.isStopped = false;
      process.stopToldMs = undefined;
      worker.start();
    });
  }

  #newProcess(): SimProcess {
    this.#lives += 1;
    return new SimProcess(
      `${this.#name}.${this.#lives}`,
      this.#world.clock,
      this.#world.random.whole(0, 1e6),
    );
  }

  #newStore(): ProcessStore {
    const { table, random, mutant } = this.#world;
    const inner = new MemoryOutboxStore({
      table: mutant?.table?.(table) ?? table,
      random: random.next,
      claimTimeoutMs: this.settings.claimTimeoutMs,
    });
    return new ProcessStore(this.#world, this.#process, this.settings, mutant?.inner?.(inner) ?? inner);
  }

  #startEngine(): void {
    const { random, mutant, events: ledger } = this.#world;
    const {
      role,
      claimTimeoutMs: _,
      publishesBatches,
      overlaps: __,
      backoff,
      backlogThreshold,
      rateLimit,
      ...settings
    } = this.settings;
    const { pollIntervalMs, batchesInFlight, takeoverAfterMs, ...dispatching } = settings;
    const events = new DispatchEvents();
    const options = {
      ...dispatching,
      ...(backoff && { backoff }),
      ...(rateLimit && { rateLimit }),
      pipeline: this.#pipeline(),
      interceptors: [this.#interceptor()],
      events,
      clock: this.#process,
      random: random.next,
    };
    ledger.listen(this.#process, events);
    const store = mutant?.store?.(this.#store, events) ?? this.#store;
    const Publisher = publishesBatches ? BatchProcessPublisher : ProcessPublisher;
    const real = new Publisher(this.#world, this.#process, this.settings);
    const publisher = mutant?.publisher?.(real) ?? real;
    if (role === 'dispatcher') {
      void this.#loop(new OutboxDispatcher(store, publisher, options));
      return;
    }
    const polling = { pollIntervalMs, batchesInFlight, ...(backlogThreshold && { backlogThreshold }) };
    const inner = new MemoryOutboxWorkers(this.#world.table);
    const workers = mutant?.workers?.(inner) ?? inner;
    this.#worker = new OutboxWorker(store, publisher, {
      ...options,
      ...polling,
      ...(takeoverAfterMs && {
        takeoverAfterMs,
        workers: new ProcessWorkers(this.#world, this.#store, workers),
      }),
    });
    this.#worker.start();
  }

  /** A scheduler of one's own. It knows no stop; calls may overlap. */
  async #loop(dispatcher: OutboxDispatcher): Promise<void> {
    const process = this.#process;
    const { random, events, history } = this.#world;
    for (;;) {
      const run = dispatcher.dispatchPending().then(
        (summary) => events.returned(process, summary),
        (error) => history.note(process.name, 'dispatchPending failed', () => String(error)),
      );
      if (!this.settings.overlaps || random.chance(0.5)) await run;
      await new Promise<void>((resolve) => void process.schedule(random.between(20, 400), resolve));
    }
  }

  /** One that fails before or after its batch; without one of `publish`, which would be one more layer around it. */
  #interceptor(): OutboxInterceptor {
    const world = this.#world;
    const maybeFail = (): void => {
      if (world.isBad && world.random.chance(world.weather.interceptorFaults)) throw new Error('interceptor');
    };
    return {
      dispatch: async (limit, next) => {
        maybeFail();
        const summary = await next(limit);
        maybeFail();
        return summary;
      },
    };
  }

  /** Rows of the topic `checked` are held against a schema, which may take its time. */
  #pipeline(): EnqueuePipeline {
    const process = this.#process;
    const { random, clock } = this.#world;
    const world = this.#world;
    const validate = async (
      payload: unknown,
    ): Promise<{ value: unknown } | { issues: { message: string }[] }> => {
      if (world.isBad && random.chance(world.weather.slowSchemas)) {
        const ms = random.pick([1, 20, 500, undefined]);
        await new Promise<void>((resolve) => {
          const answer = (): void => process.deliver(resolve);
          if (ms === undefined) world.whenGoodTimesCome(answer);
          else clock.schedule(ms, answer);
        });
      }
      return payload === 'misfit' ? { issues: [{ message: 'does not fit' }] } : { value: payload };
    };
    return new EnqueuePipeline({
      topics: { checked: { '~standard': { version: 1, vendor: 'simulation', validate } } },
    });
  }

  #tokensOf(process: SimProcess, ids: readonly string[]): Map<string, string> {
    const tokens = new Map<string, string>();
    for (const claim of this.#world.claims.claims)
      if (claim.process === process)
        for (const id of ids) if (claim.rows.has(id)) tokens.set(id, claim.token);
    return tokens;
  }
}
