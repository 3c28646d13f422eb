import {
  MemoryOutboxStore,
  type MemoryOutboxStoreOptions,
  MemoryTable,
  VirtualClock,
} from '@postcommit/store-memory';
import { afterEach, expect } from 'vitest';
import type { DispatcherOptions } from '../src/dispatch-engine.js';
import type { OutboxErrorCode } from '../src/errors.js';
import { OutboxDispatcher } from '../src/outbox-dispatcher.js';
import type { OutboxPublisher, PublishFunction } from '../src/outbox-publisher.js';
import type { OutboxRow } from '../src/outbox-row.js';
import { OutboxWorker, type WorkerOptions } from '../src/outbox-worker.js';

/** A virtual clock that can tell how many timers wait. */
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

  /** Lets everything go on that waits for promises only. */
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
