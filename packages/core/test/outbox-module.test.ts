import { MemoryOutboxStore, MemoryTable, OutboxMemoryModule } from '@postcommit/store-memory';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { OutboxDispatcher } from '../src/dispatch/outbox-dispatcher.js';
import { EnqueuePipeline } from '../src/enqueue/enqueue-pipeline.js';
import { PermanentError } from '../src/message/errors.js';
import type { OutboxRow } from '../src/message/outbox-row.js';
import { composeModules, type OutboxApp } from '../src/modules/compose-modules.js';
import type { Module } from '../src/modules/module.js';
import { DispatchEvents } from '../src/observe/dispatch-events.js';
import { type OutboxInterceptor, OutboxInterceptors } from '../src/observe/interceptors.js';
import { OutboxModule, type OutboxModuleOptions } from '../src/outbox-module.js';
import { OutboxPublisher } from '../src/publish/outbox-publisher.js';
import { OutboxRoutes } from '../src/publish/publisher-routes.js';
import { PublisherRuns } from '../src/publish/publisher-runs.js';
import { OutboxDriver } from '../src/store/outbox-driver.js';
import { OutboxPauses } from '../src/store/outbox-pauses.js';
import { OutboxStore } from '../src/store/outbox-store.js';
import { OutboxWakeup, type WakeupListener } from '../src/store/outbox-wakeup.js';
import { OutboxWorkers } from '../src/store/outbox-workers.js';
import { OutboxWorker } from '../src/worker/outbox-worker.js';
import { deferred, refusal, scripted } from './outbox-fixture.js';

const paid = { topic: 'order.paid', payload: { id: 1 } };

function collector(): { topics: string[]; publish(row: OutboxRow): Promise<void> } {
  const topics: string[] = [];
  return { topics, publish: async ({ topic }) => void topics.push(topic) };
}

describe('OutboxModule with OutboxMemoryModule', () => {
  test('enqueues in a transaction, dispatches and publishes', async () => {
    const { topics, publish } = collector();
    const app = composeModules([
      OutboxModule.forRoot({ publisher: publish, worker: false }),
      OutboxMemoryModule,
    ]);
    const store = app.get(MemoryOutboxStore);
    await app.start();
    await store.transaction((tx) => store.enqueueWith(tx, paid));
    await expect(
      store.transaction(async (tx) => {
        await store.enqueueWith(tx, { ...paid, topic: 'order.lost' });
        throw new Error('rolled back');
      }),
    ).rejects.toThrow('rolled back');
    expect(await app.get(OutboxDispatcher).dispatchPending()).toMatchObject({ fetched: 1, dispatched: 1 });
    expect(topics).toEqual(['order.paid']);
    await app.stop();
  });

  test('binds one store under both tokens', () => {
    const app = composeModules([OutboxModule, OutboxMemoryModule]);
    expect(app.get(OutboxStore)).toBe(app.get(MemoryOutboxStore));
    expect(app.tokens).toEqual([
      DispatchEvents,
      EnqueuePipeline,
      OutboxDispatcher,
      OutboxWorker,
      PublisherRuns,
      MemoryTable,
      MemoryOutboxStore,
      OutboxStore,
      OutboxWorkers,
      OutboxPauses,
    ]);
  });

  test('the module without options takes its publisher from a preference', async () => {
    const topics: string[] = [];
    class Webhook extends OutboxPublisher {
      async publish({ topic }: OutboxRow): Promise<void> {
        topics.push(topic);
      }
    }
    const preferences = [{ provide: OutboxPublisher, useClass: Webhook }];
    const app = composeModules([OutboxModule, OutboxMemoryModule], { preferences });
    await app.get(OutboxStore).enqueue(paid);
    await app.get(OutboxDispatcher).dispatchPending();
    expect(topics).toEqual(['order.paid']);
  });

  test('a preference takes precedence over forRoot', async () => {
    const [root, preferred] = [collector(), collector()];
    const app = composeModules([OutboxModule.forRoot({ publisher: root }), OutboxMemoryModule], {
      preferences: [{ provide: OutboxPublisher, useValue: preferred }],
    });
    await app.get(OutboxStore).enqueue(paid);
    await app.get(OutboxDispatcher).dispatchPending();
    expect([root.topics, preferred.topics]).toEqual([[], ['order.paid']]);
  });

  test('a missing publisher is reported with every way to bind one, but enqueuing needs none', async () => {
    const app = composeModules([OutboxModule, OutboxMemoryModule]);
    expect(await app.get(OutboxStore).enqueue(paid)).toHaveLength(1);
    expect(() => app.get(OutboxDispatcher)).toThrow(
      refusal(
        'MISSING_BINDING',
        /OutboxPublisher is not bound.*OutboxModule\.forRoot\(\{ publisher \}\).*preferences: \[\{ provide: OutboxPublisher/,
      ),
    );
  });

  test('a missing store names the module that needs it', () => {
    expect(() => composeModules([OutboxModule])).toThrow(
      refusal(
        'MISSING_BINDING',
        'OutboxStore is not bound: module OutboxModule needs it for OutboxDispatcher',
      ),
    );
  });

  test('a class passed as publisher is rejected with the way to bind it', () => {
    class Webhook extends OutboxPublisher {
      async publish(): Promise<void> {}
    }
    expect(() => OutboxModule.forRoot({ publisher: Webhook as never })).toThrow(
      refusal('INVALID_CONFIG', 'publisher is the class Webhook'),
    );
  });

  test('two publishers are a doubled binding', () => {
    const other: Module = { name: 'Broker', provides: [{ provide: OutboxPublisher, useValue: collector() }] };
    expect(() =>
      composeModules([OutboxModule.forRoot({ publisher: collector() }), other, OutboxMemoryModule]),
    ).toThrow(
      refusal(
        'DOUBLED_BINDING',
        'OutboxPublisher is bound twice: by module OutboxModule and by module Broker',
      ),
    );
  });
});

describe('options of OutboxModule', () => {
  const numbersOnly = {
    '~standard': {
      version: 1 as const,
      vendor: 'test',
      validate: (value: unknown) =>
        typeof value === 'number' ? { value } : { issues: [{ message: 'must be a number' }] },
    },
  };

  test('invalid options are rejected at once', () => {
    expect(() => OutboxModule.forRoot({ batchSize: 0 })).toThrow(refusal('INVALID_CONFIG', 'batchSize'));
    expect(() => OutboxModule.forRoot({ maxAttempts: -1 })).toThrow(
      refusal('INVALID_RETRY_POLICY', 'maxAttempts'),
    );
    for (const maxPayloadBytes of [0, -1, 1.5, Number.NaN]) {
      expect(() => OutboxModule.forRoot({ maxPayloadBytes })).toThrow(
        refusal('INVALID_CONFIG', `maxPayloadBytes must be a whole number from 1, got ${maxPayloadBytes}`),
      );
    }
  });

  test('topics and maxPayloadBytes reach the store', async () => {
    const options = { topics: { 'order.paid': numbersOnly }, maxPayloadBytes: 3 };
    const store = composeModules([OutboxModule.forRoot(options), OutboxMemoryModule]).get(OutboxStore);
    await expect(store.enqueue({ topic: 'order.paid', payload: true })).rejects.toThrow(
      refusal('PAYLOAD_TOO_LARGE', '4 bytes'),
    );
    await expect(store.enqueue({ topic: 'order.paid', payload: '' })).rejects.toThrow(
      refusal('SCHEMA_MISMATCH', 'must be a number'),
    );
    expect(await store.enqueue({ topic: 'order.paid', payload: 5 })).toHaveLength(1);
  });

  test('topics reach the dispatcher: a stored row that fails its schema is dead', async () => {
    const store = new MemoryOutboxStore();
    await store.enqueue(paid);
    const { topics, publish } = collector();
    const app = composeModules(
      [
        OutboxModule.forRoot({ publisher: publish, topics: { 'order.paid': numbersOnly } }),
        OutboxMemoryModule,
      ],
      { preferences: [{ provide: OutboxStore, useValue: store }] },
    );
    expect(await app.get(OutboxDispatcher).dispatchPending()).toMatchObject({ dead: 1 });
    expect(topics).toEqual([]);
  });

  test('batchSize and maxAttempts reach the dispatcher', async () => {
    const publisher = (): Promise<void> => Promise.reject(new Error('no'));
    const app = composeModules([
      OutboxModule.forRoot({ publisher, batchSize: 2, maxAttempts: 1 }),
      OutboxMemoryModule,
    ]);
    await app.get(OutboxStore).enqueue([paid, paid, paid]);
    expect(await app.get(OutboxDispatcher).dispatchPending()).toMatchObject({ fetched: 2, dead: 2 });
  });
});

describe('contributions to OutboxModule', () => {
  test('interceptors wrap enqueue, dispatch and publish', async () => {
    const steps: string[] = [];
    const useValue: OutboxInterceptor = {
      enqueue: (entries, next) => {
        steps.push('enqueue');
        return next(entries);
      },
      dispatch: (limit, next) => {
        steps.push('dispatch');
        return next(limit);
      },
      publish: (row, context, next) => {
        steps.push('publish');
        return next(row, context);
      },
    };
    const tracing: Module = { name: 'Tracing', contributes: [{ to: OutboxInterceptors, useValue }] };
    const app = composeModules([
      OutboxModule.forRoot({ publisher: collector() }),
      OutboxMemoryModule,
      tracing,
    ]);
    await app.get(OutboxStore).enqueue(paid);
    await app.get(OutboxDispatcher).dispatchPending();
    expect(steps).toEqual(['enqueue', 'dispatch', 'publish']);
  });

  function scheduled(publisher: OutboxPublisher): Module {
    const useValue = {
      name: 'schedules',
      matches: ({ topic }: OutboxRow) => topic.startsWith('schedule.'),
      publisher,
    };
    return { name: 'Schedules', contributes: [{ to: OutboxRoutes, useValue }] };
  }

  test('a contributed route takes precedence over the publisher of the application', async () => {
    const [publisher, route] = [collector(), collector()];
    const app = composeModules([OutboxModule.forRoot({ publisher }), OutboxMemoryModule, scheduled(route)]);
    await app.get(OutboxStore).enqueue([paid, { ...paid, topic: 'schedule.due' }]);
    await app.get(OutboxDispatcher).dispatchPending();
    expect([publisher.topics, route.topics]).toEqual([['order.paid'], ['schedule.due']]);
  });

  test('a route is enough; a row without one dies', async () => {
    const route = collector();
    const app = composeModules([OutboxModule, OutboxMemoryModule, scheduled(route)]);
    await app.get(OutboxStore).enqueue([paid, { ...paid, topic: 'schedule.due' }]);
    expect(await app.get(OutboxDispatcher).dispatchPending()).toMatchObject({ dispatched: 1, dead: 1 });
    expect(route.topics).toEqual(['schedule.due']);
  });
});

describe('the worker of OutboxModule', () => {
  const apps: OutboxApp[] = [];

  afterEach(async () => {
    vi.useRealTimers();
    for (const app of apps.splice(0)) await app.stop();
  });

  function compose(options: OutboxModuleOptions, ...others: Module[]): OutboxApp {
    const app = composeModules([OutboxModule.forRoot(options), OutboxMemoryModule, ...others]);
    apps.push(app);
    return app;
  }

  /** Resolves with the first event. */
  function once<T>(): { promise: Promise<T>; emit: (emitted: T) => void } {
    let emit: (emitted: T) => void = () => {};
    const promise = new Promise<T>((resolve) => {
      emit = resolve;
    });
    return { promise, emit: (emitted) => emit(emitted) };
  }

  test('runs between start and stop, and is woken by what is enqueued', async () => {
    const published = once<OutboxRow>();
    const app = compose({ publisher: async (row) => published.emit(row), pollIntervalMs: 60_000 });
    const worker = app.get(OutboxWorker);
    expect(await worker.health()).toMatchObject({ status: 'stopped' });
    await app.start();
    expect(await worker.health()).toMatchObject({ status: 'up' });
    const [id] = await app.get(OutboxStore).enqueue(paid);
    expect((await published.promise).id).toBe(id);
    await app.stop();
    expect(await worker.health()).toMatchObject({ status: 'stopped', rowsInFlight: 0 });
    expect(await app.get(OutboxStore).count()).toMatchObject({ dispatched: 1 });
    const fetchPending = vi.spyOn(app.get(OutboxStore), 'fetchPending');
    await app.get(OutboxStore).enqueue(paid);
    expect(fetchPending).not.toHaveBeenCalled();
  });

  test('can be started again', async () => {
    const published = once<OutboxRow>();
    const app = compose({ publisher: async (row) => published.emit(row) });
    await app.start();
    await app.stop();
    await app.start();
    await app.get(OutboxStore).enqueue(paid);
    await published.promise;
  });

  test('receives the grace that the application is stopped with', async () => {
    const started = deferred();
    const ended = deferred();
    const aborted = once<unknown>();
    const app = compose({
      publisher: (_row, { signal }) => {
        signal.addEventListener('abort', () => {
          aborted.emit(String(signal.reason));
          ended.resolve();
        });
        started.resolve();
        return ended.promise;
      },
    });
    const stopped = once<readonly string[]>();
    app.get(DispatchEvents).on('stopped', ({ abandoned }) => stopped.emit(abandoned));
    await app.start();
    const [id] = await app.get(OutboxStore).enqueue(paid);
    await started.promise;
    await app.stop({ graceMs: 0 });
    expect(await aborted.promise).toContain('worker stopping: the 0 ms grace period is over');
    expect(await stopped.promise).toEqual([id]);
  });

  test('does not run with worker: false, and needs no publisher then', async () => {
    const app = compose({ worker: false });
    const store = app.get(OutboxStore);
    const fetchPending = vi.spyOn(store, 'fetchPending');
    await app.start();
    await store.enqueue(paid);
    expect(fetchPending).not.toHaveBeenCalled();
    expect(await store.count()).toMatchObject({ pending: 1 });
    await app.stop();
  });

  test('does not run if something else drives the dispatcher', async () => {
    const driver: Module = {
      name: 'Cron',
      provides: [{ provide: OutboxDriver, useValue: { name: 'cron' } }],
    };
    const { topics, publish } = collector();
    const app = compose({ publisher: publish }, driver);
    const fetchPending = vi.spyOn(app.get(OutboxStore), 'fetchPending');
    await app.start();
    await app.get(OutboxStore).enqueue(paid);
    expect(fetchPending).not.toHaveBeenCalled();
    expect(await app.get(OutboxWorker).health()).toMatchObject({ status: 'stopped' });
    await app.get(OutboxDispatcher).dispatchPending();
    expect(topics).toEqual(['order.paid']);
    await app.stop();
  });

  test('can’t run without a publisher: start fails and says what to do', async () => {
    const app = compose({});
    await expect(app.start()).rejects.toThrow(
      refusal(
        'MISSING_BINDING',
        /OutboxPublisher is not bound.*OutboxModule\.forRoot\(\{ worker: false \}\)/,
      ),
    );
  });

  test('refuses to start with a publish that does not fit into the claim', async () => {
    const app = composeModules([
      OutboxModule.forRoot({ publisher: collector() }),
      OutboxMemoryModule.forRoot({ claimTimeoutMs: 30_000 }),
    ]);
    await expect(app.start()).rejects.toThrow(
      refusal('INVALID_CONFIG', 'set publishTimeoutMs below 20000, or claimTimeoutMs above 45000'),
    );
  });

  test.each([
    [{ pollIntervalMs: 0 }, 'pollIntervalMs must be at least 1'],
    [{ batchesInFlight: 0 }, 'batchesInFlight must be a whole number from 1'],
    [{ maxBytesInFlight: 0 }, 'maxBytesInFlight must be a whole number from 1'],
    [{ onBacklog: { threshold: 0, notify: () => {} } }, 'backlogThreshold must be a whole number from 1'],
    [{ onFailures: { threshold: 0, windowMs: 1, notify: () => {} } }, 'onFailures.threshold must be a whole'],
    [{ onFailures: { threshold: 1, windowMs: 0, notify: () => {} } }, 'onFailures.windowMs must be'],
    [{ onFailures: { threshold: 1, windowMs: 9 } as never }, 'onFailures.notify must be a function'],
  ])('rejects %j where it is set', (options, message) => {
    expect(() => OutboxModule.forRoot(options)).toThrow(refusal('INVALID_CONFIG', message));
  });

  test('uses the wake-up that a module binds', async () => {
    const published = once<OutboxRow>();
    const listeners = new Set<WakeupListener>();
    class Wakeup extends OutboxWakeup {
      subscribe(listener: WakeupListener): () => Promise<void> {
        listeners.add(listener);
        return async () => {
          listeners.delete(listener);
        };
      }
    }
    const module: Module = { name: 'Wakeup', provides: [{ provide: OutboxWakeup, useClass: Wakeup }] };
    const app = compose({ publisher: async (row) => published.emit(row), pollIntervalMs: 60_000 }, module);
    vi.spyOn(app.get(OutboxStore), 'onEnqueue').mockReturnValue(() => {});
    await app.start();
    await app.get(OutboxStore).enqueue(paid);
    for (const { onHint, onStatus } of listeners) {
      onStatus({ isListening: true });
      onHint();
    }
    expect(await app.get(OutboxWorker).health()).toMatchObject({ isListening: true });
    await published.promise;
    await app.stop();
    expect(listeners.size).toBe(0);
  });

  test('passes its settings on: batchSize, batchesInFlight, concurrency, maxAttempts', async () => {
    const all = deferred();
    const ends = deferred();
    let running = 0;
    const app = compose({
      publisher: async () => {
        running += 1;
        if (running === 4) all.resolve();
        await ends.promise;
        throw new Error('no');
      },
      batchSize: 2,
      batchesInFlight: 2,
      concurrency: 10,
      maxAttempts: 1,
    });
    await app.get(OutboxStore).enqueue([paid, paid, paid, paid, paid, paid]);
    await app.start();
    await all.promise;
    expect(await app.get(OutboxWorker).health()).toMatchObject({ rowsInFlight: 4 });
    expect(running).toBe(4);
    ends.resolve();
    await app.stop();
    expect((await app.get(OutboxStore).count()).dead).toBeGreaterThanOrEqual(4);
  });

  test('calls the hooks for first failures and dead rows, as the dispatcher does', async () => {
    const told: string[] = [];
    const done = deferred();
    const app = compose({
      publisher: async ({ topic }) => {
        if (topic === 'order.lost') throw new PermanentError('gone');
        throw new Error('busy');
      },
      pollIntervalMs: 10,
      maxAttempts: 2,
      onFirstFailure: ({ row, error, delayMs }) => told.push(`first ${row.topic} ${error} ${delayMs}`),
      onDead: ({ row, error, reason }) => {
        told.push(`dead ${row.topic} ${error} ${reason} ${row.attempts}`);
        if (told.length === 4) done.resolve();
      },
    });
    await app.get(OutboxStore).enqueue([paid, { topic: 'order.lost', payload: {} }]);
    await app.start();
    await done.promise;
    expect(told).toEqual([
      'first order.paid busy 10',
      'dead order.lost gone permanent 1',
      'first order.lost gone undefined',
      'dead order.paid busy exhausted 2',
    ]);
    await app.stop();
    await app.get(OutboxStore).enqueue({ topic: 'order.lost', payload: {} });
    await app.get(OutboxDispatcher).dispatchPending();
    expect(told).toHaveLength(6);
  });

  test('calls onDead with a row from which a dead-letter record can be written', async () => {
    const records: unknown[] = [];
    const app = compose({
      publisher: scripted({ x1: new PermanentError('gone') }),
      onDead: ({ row: { id, topic, payload, attempts, lastError, deadAt, deadReason } }) =>
        records.push({ id, topic, payload, attempts, lastError, deadAt, deadReason }),
    });
    await app.get(OutboxStore).enqueue({ ...paid, id: 'x1' });
    await app.get(OutboxDispatcher).dispatchPending();
    const [stored] = await app.get(OutboxStore).peek({ state: 'dead' }, 1);
    const { id, topic, payload, attempts, lastError, deadReason } = stored ?? {};
    expect(records).toEqual([
      { id, topic, payload, attempts, lastError, deadReason, deadAt: expect.any(Date) },
    ]);
    expect(attempts).toBe(1);
  });

  test('calls onFailures if more rows of a topic fail than allowed', async () => {
    const notify = vi.fn();
    const app = compose({
      publisher: async ({ topic }) => {
        throw topic === 'order.lost' ? new PermanentError('gone') : new Error('busy');
      },
      onFailures: { threshold: 2, windowMs: 60_000, notify },
    });
    const lost = { topic: 'order.lost', payload: {} };
    await app.get(OutboxStore).enqueue([paid, lost, lost]);
    await app.get(OutboxDispatcher).dispatchPending();
    expect(notify).not.toHaveBeenCalled();
    await app.get(OutboxStore).enqueue([lost, lost]);
    await app.get(OutboxDispatcher).dispatchPending();
    expect(notify.mock.calls).toEqual([[{ topic: 'order.lost', count: 3, windowMs: 60_000, threshold: 2 }]]);
  });

  test('calls onBacklog once the backlog reaches the threshold', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    const notify = vi.fn();
    const later = { ...paid, availableAt: new Date(Date.now() + 3_600_000) };
    const gate = deferred();
    const app = compose({ publisher: () => gate.promise, onBacklog: { threshold: 3, notify } });
    await app.get(OutboxStore).enqueue([later, later, later, later, paid, paid]);
    await app.start();
    await vi.advanceTimersByTimeAsync(15_000);
    expect(notify, 'what is scheduled for later is no backlog').not.toHaveBeenCalled();
    await app.get(OutboxStore).enqueue([paid, paid]);
    await vi.advanceTimersByTimeAsync(15_000);
    const told = { pending: 3, due: 3, oldestPendingAgeMs: expect.any(Number), threshold: 3 };
    expect(notify.mock.calls).toEqual([[told]]);
    gate.resolve();
    await app.stop();
    expect(vi.getTimerCount()).toBe(0);
  });

  const broken: Array<[string, () => unknown]> = [
    [
      'throws',
      () => {
        throw new Error('pager is away');
      },
    ],
    ['rejects', () => Promise.reject(new Error('pager is away'))],
  ];

  test.each(broken)('survives a hook that %s, and emits listenerFailed', async (_how, hook) => {
    const app = compose({
      publisher: scripted({ x1: new PermanentError('no'), x2: new Error('busy') }),
      onDead: hook,
      onFirstFailure: hook,
    });
    const failed: unknown[] = [];
    app.get(DispatchEvents).on('listenerFailed', (told) => failed.push(told));
    const store = app.get(OutboxStore);
    await store.enqueue(['x1', 'x2', 'x3'].map((id) => ({ ...paid, id })));
    expect(await app.get(OutboxDispatcher).dispatchPending()).toMatchObject({
      dead: 1,
      failed: 1,
      dispatched: 1,
    });
    expect(await store.count()).toMatchObject({ dead: 1, pending: 1, dispatched: 1 });
    expect(failed).toEqual([
      { event: 'dead', error: new Error('pager is away') },
      { event: 'firstFailure', error: new Error('pager is away') },
      { event: 'firstFailure', error: new Error('pager is away') },
    ]);
  });

  test.each(broken)('warns about a hook that %s if nobody listens to listenerFailed', async (_how, hook) => {
    const warning = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
    const app = compose({ publisher: scripted({ x1: new PermanentError('no') }), onDead: hook });
    await app.get(OutboxStore).enqueue({ ...paid, id: 'x1' });
    await app.get(OutboxDispatcher).dispatchPending();
    expect(warning.mock.calls).toEqual([
      ["a listener of the outbox event 'dead' failed: pager is away", 'OutboxWarning'],
    ]);
    warning.mockRestore();
  });

  test('is not delayed by a hook that never ends', async () => {
    const done = deferred();
    const app = compose({
      publisher: async ({ topic }) => {
        if (topic === 'order.lost') throw new PermanentError('gone');
        done.resolve();
      },
      batchSize: 1,
      onDead: () => new Promise(() => {}),
    });
    await app.get(OutboxStore).enqueue([{ topic: 'order.lost', payload: {} }, paid]);
    await app.start();
    await done.promise;
    await app.stop();
    expect(await app.get(OutboxStore).count()).toMatchObject({ dead: 1, dispatched: 1 });
  });
});

describe('problems of the store', () => {
  class LossyStore extends MemoryOutboxStore {
    loseConnection(): void {
      this.reportProblem(new Error('connection lost'));
    }
  }

  test('are emitted as storeProblem between start and stop, even without a worker', async () => {
    const store = new LossyStore();
    const module: Module = { name: 'lossy', provides: [{ provide: OutboxStore, useValue: store }] };
    const app = composeModules([OutboxModule.forRoot({ worker: false }), module]);
    const emitted = vi.fn();
    app.get(DispatchEvents).on('storeProblem', emitted);
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
    await app.start();
    store.loseConnection();
    await app.stop();
    store.loseConnection();
    expect(emitted.mock.calls).toEqual([[{ error: new Error('connection lost') }]]);
    expect(warn).toHaveBeenCalledTimes(1);
    warn.mockRestore();
  });
});
