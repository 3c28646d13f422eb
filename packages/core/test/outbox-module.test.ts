import { MemoryOutboxStore, OutboxMemoryModule } from '@postcommit/store-memory';
import { describe, expect, test } from 'vitest';
import { EnqueuePipeline } from '../src/enqueue.js';
import { type OutboxInterceptor, OutboxInterceptors } from '../src/interceptors.js';
import { composeModules } from '../src/modules/compose-modules.js';
import type { Module } from '../src/modules/module.js';
import { OutboxDispatcher } from '../src/outbox-dispatcher.js';
import { OutboxModule } from '../src/outbox-module.js';
import { OutboxPublisher } from '../src/outbox-publisher.js';
import type { OutboxRow } from '../src/outbox-row.js';
import { OutboxSignals } from '../src/outbox-signals.js';
import { OutboxStore } from '../src/outbox-store.js';
import { OutboxWorker } from '../src/outbox-worker.js';
import { OutboxRoutes } from '../src/publisher-routes.js';
import { refusal } from './outbox-fixture.js';

const paid = { topic: 'order.paid', payload: { id: 1 } };

function collector(): { topics: string[]; publish(row: OutboxRow): Promise<void> } {
  const topics: string[] = [];
  return { topics, publish: async ({ topic }) => void topics.push(topic) };
}

describe('OutboxModule with OutboxMemoryModule', () => {
  test('enqueues in a transaction, dispatches and publishes', async () => {
    const { topics, publish } = collector();
    const app = composeModules([OutboxModule.forRoot({ publisher: publish }), OutboxMemoryModule]);
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
      OutboxSignals,
      EnqueuePipeline,
      OutboxDispatcher,
      OutboxWorker,
      MemoryOutboxStore,
      OutboxStore,
    ]);
  });

  test('the bare module takes its publisher from a preference', async () => {
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

  test('a preference wins over forRoot', async () => {
    const [root, preferred] = [collector(), collector()];
    const app = composeModules([OutboxModule.forRoot({ publisher: root }), OutboxMemoryModule], {
      preferences: [{ provide: OutboxPublisher, useValue: preferred }],
    });
    await app.get(OutboxStore).enqueue(paid);
    await app.get(OutboxDispatcher).dispatchPending();
    expect([root.topics, preferred.topics]).toEqual([[], ['order.paid']]);
  });

  test('a missing publisher is told with every way to bind one, but enqueuing needs none', async () => {
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

  test('a class given as publisher is refused with the way to bind it', () => {
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

  test('nonsense is refused at once', () => {
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

  test('schemas and maxPayloadBytes reach the store', async () => {
    const options = { schemas: { 'order.paid': numbersOnly }, maxPayloadBytes: 3 };
    const store = composeModules([OutboxModule.forRoot(options), OutboxMemoryModule]).get(OutboxStore);
    await expect(store.enqueue({ topic: 'order.paid', payload: true })).rejects.toThrow(
      refusal('PAYLOAD_TOO_LARGE', '4 bytes'),
    );
    await expect(store.enqueue({ topic: 'order.paid', payload: '' })).rejects.toThrow(
      refusal('SCHEMA_MISMATCH', 'must be a number'),
    );
    expect(await store.enqueue({ topic: 'order.paid', payload: 5 })).toHaveLength(1);
  });

  test('schemas reach the dispatcher: a row older than the schema is dead', async () => {
    const store = new MemoryOutboxStore();
    await store.enqueue(paid);
    const { topics, publish } = collector();
    const app = composeModules(
      [
        OutboxModule.forRoot({ publisher: publish, schemas: { 'order.paid': numbersOnly } }),
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
  test('interceptors stand around enqueue, dispatch and publish', async () => {
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
    const tracing: Module = { name: 'Tracing', contributes: [{ pool: OutboxInterceptors, useValue }] };
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
    return { name: 'Schedules', contributes: [{ pool: OutboxRoutes, useValue }] };
  }

  test('a contributed route takes its rows before the publisher of the application', async () => {
    const [publisher, route] = [collector(), collector()];
    const app = composeModules([OutboxModule.forRoot({ publisher }), OutboxMemoryModule, scheduled(route)]);
    await app.get(OutboxStore).enqueue([paid, { ...paid, topic: 'schedule.due' }]);
    await app.get(OutboxDispatcher).dispatchPending();
    expect([publisher.topics, route.topics]).toEqual([['order.paid'], ['schedule.due']]);
  });

  test('a route alone is enough; a row without one is dead', async () => {
    const route = collector();
    const app = composeModules([OutboxModule, OutboxMemoryModule, scheduled(route)]);
    await app.get(OutboxStore).enqueue([paid, { ...paid, topic: 'schedule.due' }]);
    expect(await app.get(OutboxDispatcher).dispatchPending()).toMatchObject({ dispatched: 1, dead: 1 });
    expect(route.topics).toEqual(['schedule.due']);
  });
});
