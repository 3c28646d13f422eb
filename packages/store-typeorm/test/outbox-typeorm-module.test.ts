import {
  composeModules,
  JobLock,
  type OutboxApp,
  OutboxDispatcher,
  OutboxModule,
  OutboxPauses,
  OutboxSchema,
  OutboxStore,
  ProcessedMessages,
} from '@postcommit/core';
import { OutboxWorkers } from '@postcommit/core/internal';
import {
  OutboxTypeormModule,
  type OutboxTypeormModuleOptions,
  outboxEntities,
  TypeormOutboxStore,
} from '@postcommit/store-typeorm';
import { DataSource, type EntityManager } from 'typeorm';
import { afterEach, describe, expect, it } from 'vitest';
import { usePostgres } from '../../store-sql/test/postgres-fixture.js';
import { Order, OrderEntity } from './order.js';

const fixture = usePostgres(async () => {});

/** The specification's example, with `static inject` for its decorators. */
class OrderService {
  static inject = [DataSource, TypeormOutboxStore] as const;
  readonly #db: DataSource;
  readonly #outbox: TypeormOutboxStore;

  constructor(db: DataSource, outbox: TypeormOutboxStore) {
    this.#db = db;
    this.#outbox = outbox;
  }

  async pay(id: string): Promise<void> {
    await this.#db.transaction(async (em) => {
      await em.update(Order, { id }, { status: 'paid' });
      await this.#outbox.enqueueWith(em, [{ topic: 'order.paid', payload: { id } }]);
    });
  }
}

const published: unknown[] = [];
let app: OutboxApp | undefined;

function compose(options: OutboxTypeormModuleOptions): OutboxApp {
  app = composeModules([
    OutboxTypeormModule.forRoot(options),
    OutboxModule.forRoot({
      worker: false,
      publisher: async (row) => {
        published.push([row.topic, row.payload]);
      },
    }),
    { name: 'orders', provides: [{ provide: OrderService, useClass: OrderService }] },
  ]);
  return app;
}

function createDataSource(entities: typeof outboxEntities = outboxEntities): DataSource {
  return new DataSource({
    type: 'postgres',
    url: fixture.url,
    entities: [OrderEntity, ...entities],
    synchronize: true,
  });
}

afterEach(async () => {
  await app?.stop();
  published.length = 0;
  await fixture.query('drop schema public cascade');
  await fixture.query('create schema public');
});

describe.each([
  { form: 'a data source', options: { dataSource: () => createDataSource() } },
  { form: 'a function of the entities', options: { dataSource: () => createDataSource } },
])('OutboxTypeormModule with $form', ({ options }) => {
  it('takes an order from the business transaction to the publisher', async () => {
    const { get, start } = bound(compose({ dataSource: options.dataSource(), claimTimeoutMs: 5 * 60_000 }));
    await start();
    await get(DataSource).getRepository(Order).insert({ id: '7', status: 'new' });
    await get(OrderService).pay('7');
    expect(await get(OutboxDispatcher).dispatchPending()).toMatchObject({ fetched: 1, dispatched: 1 });
    expect(published).toEqual([['order.paid', { id: '7' }]]);
    expect(await fixture.query('select status from orders')).toEqual([{ status: 'paid' }]);
  });

  it('opens the data source at start and closes it at stop', async () => {
    const { get, start, stop } = bound(compose({ dataSource: options.dataSource() }));
    expect(get(DataSource).isInitialized).toBe(false);
    await start();
    expect(get(DataSource).isInitialized).toBe(true);
    await stop();
    expect(get(DataSource).isInitialized).toBe(false);
    await start();
    expect(get(DataSource).isInitialized).toBe(true);
  });
});

describe('OutboxTypeormModule', () => {
  it('leaves a data source open that it did not open', async () => {
    const dataSource = await createDataSource().initialize();
    const { start, stop } = bound(compose({ dataSource }));
    await start();
    await stop();
    expect(dataSource.isInitialized).toBe(true);
    await dataSource.destroy();
  });

  it('accepts a data source that was closed before it', async () => {
    const { get, start, stop } = bound(compose({ dataSource: createDataSource }));
    await start();
    await get(DataSource).destroy();
    await stop();
  });

  it('binds the store, its schema, locks and processed messages, under custom names', async () => {
    const { get, start } = bound(
      compose({ dataSource: createDataSource, table: 'messages', claimTimeoutMs: 1_000 }),
    );
    await start();
    expect(get(OutboxStore)).toBe(get(TypeormOutboxStore));
    expect(get(OutboxStore).claimTimeoutMs).toBe(1_000);
    await get(OutboxSchema).ensure();
    expect(await get(OutboxSchema).check()).toEqual([]);
    expect(get(OutboxSchema).print()).toContain('"messages"');

    expect(await get(JobLock).acquire('sweep', 60_000)).toBeDefined();
    expect(await get(JobLock).acquire('sweep', 60_000)).toBeUndefined();
    expect(await fixture.query('select name from messages_locks')).toEqual([{ name: 'sweep' }]);
    const worker = { id: 'w1', host: 'h', pid: 1, version: '1', takeoverMs: 1_000 };
    await get(OutboxWorkers).register(worker, { rowsInFlight: 0, isListening: false, outages: [] });
    expect(await fixture.query('select id, host from messages_workers')).toEqual([{ id: 'w1', host: 'h' }]);
    expect(await get(OutboxPauses).pause('order.paid')).toBe(true);
    expect((await get(OutboxStore).lookAhead()).pausedTopics).toEqual(['order.paid']);
  });

  it('processes a message once, in the transaction of its consumer', async () => {
    const { get, start } = bound(compose({ dataSource: createDataSource }));
    await start();
    const processed: ProcessedMessages<EntityManager> = get(ProcessedMessages);
    let runs = 0;
    const consume = (em: EntityManager): Promise<boolean> =>
      processed.processOnce(em, 'billing', 'message-1', async () => {
        runs++;
      });
    const dataSource = get(DataSource);
    await expect(
      dataSource.transaction(async (em) => {
        await consume(em);
        throw new Error('rolled back');
      }),
    ).rejects.toThrow('rolled back');
    expect(await dataSource.transaction(consume)).toBe(true);
    expect(await dataSource.transaction(consume)).toBe(false);
    expect(runs).toBe(2);
    await expect(consume(dataSource.manager)).rejects.toMatchObject({ code: 'INVALID_TRANSACTION' });
    expect(await processed.purge({ ageMs: 0 })).toBe(1);
  });
});

/** The methods of an app, to be taken apart. */
function bound(composed: OutboxApp): Pick<OutboxApp, 'get' | 'start' | 'stop'> {
  return {
    get: (token) => composed.get(token),
    start: () => composed.start(),
    stop: (options) => composed.stop(options),
  };
}
