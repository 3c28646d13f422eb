import {
  MemoryOutboxStore,
  type MemoryOutboxStoreOptions,
  MemoryTable,
  VirtualClock,
} from '@postcommit/store-memory';
import { afterEach, expect } from 'vitest';
import type { DispatcherOptions } from '../src/dispatch/dispatch-engine.js';
import { OutboxDispatcher } from '../src/dispatch/outbox-dispatcher.js';
import type { OutboxErrorCode } from '../src/message/errors.js';
import type { OutboxBacklog, OutboxEntry, OutboxRow } from '../src/message/outbox-row.js';
import type { Outcome } from '../src/message/outcome.js';
import type { PublishContext } from '../src/message/publish-context.js';
import type { DispatchEventMap, DispatchEventName, DispatchEvents } from '../src/observe/dispatch-events.js';
import type { OutboxPublisher, PublishFunction } from '../src/publish/outbox-publisher.js';
import type { ClaimOptions } from '../src/store/claim-options.js';
import type { LookAhead } from '../src/store/look-ahead.js';
import type { HintKind, OutboxWakeup, WakeupListener, WakeupStatus } from '../src/store/outbox-wakeup.js';
import { OutboxWorker, type WorkerOptions } from '../src/worker/outbox-worker.js';

/** A virtual clock that counts its pending timers. */
export class CountingClock extends VirtualClock {
  readonly #pending = new Set<symbol>();

  get pendingTimers(): number {
    return this.#pending.size;
  }

  override schedule(delayMs: number, callback: () => void): () => void {
    const timer = Symbol('timer');
    this.#pending.add(timer);
    const cancel = super.schedule(delayMs, () => {
      this.#pending.delete(timer);
      callback();
    });
    return () => {
      this.#pending.delete(timer);
      cancel();
    };
  }

  /** Resolves after virtual time. */
  wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.schedule(ms, resolve);
    });
  }

  /** Lets everything proceed that waits only for promises. */
  idle(): Promise<void> {
    return this.advance(0);
  }
}

export interface OutboxFixture<Store extends MemoryOutboxStore> {
  readonly clock: CountingClock;
  readonly store: Store;
  dispatcher(publisher: OutboxPublisher | PublishFunction, options?: DispatcherOptions): OutboxDispatcher;
  worker(publisher: OutboxPublisher | PublishFunction, options?: WorkerOptions): OutboxWorker;
  /** The row as it is stored now. */
  row(id: string): Promise<OutboxRow>;
}

const clocks: CountingClock[] = [];

afterEach(() => {
  const pending = clocks.splice(0).map((clock) => clock.pendingTimers);
  expect(
    pending.filter((count) => count > 0),
    'timers left running',
  ).toEqual([]);
});

/** A memory store and dispatchers on one virtual clock; `createStore` puts a faulty subclass in its place. */
export function openOutbox<Store extends MemoryOutboxStore = MemoryOutboxStore>(
  options: Omit<MemoryOutboxStoreOptions, 'table'> = {},
  createStore?: (options: MemoryOutboxStoreOptions, clock: CountingClock) => Store,
): OutboxFixture<Store> {
  const clock = new CountingClock();
  clocks.push(clock);
  const all = { ...options, table: new MemoryTable(clock) };
  const store = createStore ? createStore(all, clock) : (new MemoryOutboxStore(all) as Store);
  return {
    clock,
    store,
    dispatcher: (publisher, dispatcherOptions) =>
      new OutboxDispatcher(store, publisher, { clock, ...dispatcherOptions }),
    worker: (publisher, workerOptions) => new OutboxWorker(store, publisher, { clock, ...workerOptions }),
    row: async (id) => {
      const found = (await store.peek({}, 1_000)).find((row) => row.id === id);
      if (!found) throw new Error(`no row ${id}`);
      return found;
    },
  };
}

export function rowWith(fields: Partial<OutboxRow> = {}): OutboxRow {
  return {
    id: 'row-1',
    topic: 'order.paid',
    payload: {},
    headers: {},
    createdAt: new Date(0),
    availableAt: new Date(0),
    attempts: 0,
    retakes: 0,
    retry: {},
    ...fields,
  };
}

/** Matches an `OutboxError` with this code whose message contains or matches `message`. */
export function refusal(code: OutboxErrorCode, message: string | RegExp): unknown {
  return expect.objectContaining({
    name: 'OutboxError',
    code,
    message: typeof message === 'string' ? expect.stringContaining(message) : expect.stringMatching(message),
  });
}

export interface Deferred {
  readonly promise: Promise<void>;
  resolve(): void;
  reject(error: unknown): void;
}

export function deferred(): Deferred {
  let settle: Pick<Deferred, 'resolve' | 'reject'> | undefined;
  const promise = new Promise<void>((resolve, reject) => {
    settle = { resolve, reject };
  });
  return { promise, resolve: () => settle?.resolve(), reject: (error) => settle?.reject(error) };
}

/** `A1` has the key A, `x1` has none. */
export function entries(...ids: string[]): OutboxEntry[] {
  return ids.map((id) => {
    const [letter = ''] = id;
    return { id, topic: 'order.paid', payload: { id }, ...(letter !== 'x' && { key: letter }) };
  });
}

/** A publisher whose calls end when the test says so. */
export class ManualPublisher {
  readonly started: string[] = [];
  readonly contexts = new Map<string, PublishContext>();
  readonly #running = new Map<string, Deferred>();
  mostAtOnce = 0;

  readonly publish = (row: OutboxRow, context: PublishContext): Promise<void> => {
    const call = deferred();
    this.started.push(row.id);
    this.contexts.set(row.id, context);
    this.#running.set(row.id, call);
    this.mostAtOnce = Math.max(this.mostAtOnce, this.#running.size);
    return call.promise;
  };

  get running(): string[] {
    return [...this.#running.keys()];
  }

  succeed(id: string): void {
    this.#take(id).resolve();
  }

  fail(id: string, error: unknown = new Error(`${id} failed`)): void {
    this.#take(id).reject(error);
  }

  #take(id: string): Deferred {
    const call = this.#running.get(id);
    if (!call) throw new Error(`${id} is not being published`);
    this.#running.delete(id);
    return call;
  }
}

/** Publishes at once, and fails as the table says. */
export function scripted(failures: Readonly<Record<string, unknown>> = {}): {
  publish(row: OutboxRow): Promise<void>;
  readonly published: string[];
} {
  const published: string[] = [];
  return {
    published,
    publish: async ({ id }) => {
      published.push(id);
      if (id in failures) throw failures[id];
    },
  };
}

/** Records the named events from now on, in order. */
export function listen<Signal extends DispatchEventName>(
  events: DispatchEvents,
  ...names: Signal[]
): Array<{ readonly signal: Signal; readonly told: DispatchEventMap[Signal] }> {
  const heard: Array<{ signal: Signal; told: DispatchEventMap[Signal] }> = [];
  for (const signal of names) events.on(signal, (told) => heard.push({ signal, told }));
  return heard;
}

const STORE_CALLS = ['fetchPending', 'settle', 'extendClaim', 'backlog', 'lookAhead'] as const;
type StoreCall = (typeof STORE_CALLS)[number];

/** A store that fails or waits where the test says so, and remembers when it was asked. */
export class FaultyStore extends MemoryOutboxStore {
  readonly #clock: CountingClock;
  readonly calls: Array<{ readonly call: StoreCall; readonly atMs: number; readonly asked: unknown }> = [];
  /** Runs before the call: while it waits the call does too, and when it rejects nothing was done. */
  readonly before: Partial<Record<StoreCall, (asked: never) => Promise<void> | void>> = {};
  /** The same after the call: it was done, but the answer is late or lost. */
  readonly after: Partial<Record<StoreCall, () => Promise<void> | void>> = {};

  constructor(options: MemoryOutboxStoreOptions, clock: CountingClock) {
    super(options);
    this.#clock = clock;
  }

  /** Every call from now on fails, as when the database is away. */
  goAway(error: Error = new Error('database is away')): void {
    for (const call of STORE_CALLS) this.before[call] = () => Promise.reject(error);
  }

  comeBack(): void {
    for (const call of STORE_CALLS) delete this.before[call];
  }

  /** When each call came, in virtual milliseconds. */
  timesOf(call: StoreCall): number[] {
    return this.calls.filter((made) => made.call === call).map(({ atMs }) => atMs);
  }

  override fetchPending(limit: number, options?: ClaimOptions): Promise<OutboxRow[]> {
    return this.#around('fetchPending', limit, () => super.fetchPending(limit, options));
  }

  override settle(claimToken: string | undefined, outcomes: readonly Outcome[]): Promise<string[]> {
    return this.#around('settle', outcomes, () => super.settle(claimToken, outcomes));
  }

  override extendClaim(claimToken: string, ids: readonly string[]): Promise<string[]> {
    return this.#around('extendClaim', ids, () => super.extendClaim(claimToken, ids));
  }

  override backlog(atMost?: number): Promise<OutboxBacklog> {
    return this.#around('backlog', atMost, () => super.backlog(atMost));
  }

  override lookAhead(): Promise<LookAhead> {
    return this.#around('lookAhead', undefined, () => super.lookAhead());
  }

  async #around<T>(call: StoreCall, asked: unknown, work: () => Promise<T>): Promise<T> {
    this.calls.push({ call, atMs: this.#clock.monotonicMs(), asked });
    await this.before[call]?.(asked as never);
    const answer = await work();
    await this.after[call]?.();
    return answer;
  }
}

/** Sends the hints that the test asks for. */
export class ManualWakeup implements OutboxWakeup {
  readonly listeners = new Set<WakeupListener>();

  subscribe(listener: WakeupListener): () => Promise<void> {
    this.listeners.add(listener);
    return async () => {
      this.listeners.delete(listener);
    };
  }

  hint(kind?: HintKind): void {
    for (const listener of this.listeners) listener.onHint(kind);
  }

  emit(status: WakeupStatus): void {
    for (const listener of this.listeners) listener.onStatus(status);
  }
}
