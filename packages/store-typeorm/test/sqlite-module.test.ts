import {
  composeModules,
  JobLock,
  type OutboxApp,
  OutboxModule,
  OutboxPauses,
  OutboxSchema,
  OutboxStore,
  OutboxWakeup,
  ProcessedMessages,
} from '@postcommit/core';
import { OutboxWorkers } from '@postcommit/core/internal';
import {
  OutboxTypeormModule,
  type OutboxTypeormModuleOptions,
  outboxEntitiesFor,
  TypeormOutboxStore,
} from '@postcommit/store-typeorm';
import pg from 'pg';
import { DataSource, type EntityManager, type EntitySchema, LessThan } from 'typeorm';
import { afterEach, describe, expect, it } from 'vitest';
import type { OutboxRecord } from '../src/outbox-entity.js';
import { Order, OrderEntity } from './order.js';
import { useSqlite } from './sqlite-fixture.js';

const open = useSqlite();
let app: OutboxApp | undefined;
afterEach(() => app?.stop());

function compose(
  options: Partial<OutboxTypeormModuleOptions> = {},
  publish: (id: string) => void = () => {},
): OutboxApp {
  app = composeModules([
    OutboxTypeormModule.forRoot({
      type: 'sqljs',
      dataSource: (entities: EntitySchema[]) =>
        new DataSource({ type: 'sqljs', entities: [OrderEntity, ...entities], synchronize: true }),
      ...options,
    }),
    OutboxModule.forRoot({ publisher: async (row) => publish(row.id) }),
  ]);
  return app;
}

/** The data source is open, the tables are there; the worker has not started. */
async function prepared(composed: OutboxApp): Promise<DataSource> {
  const dataSource = await composed.get(DataSource).initialize();
  await composed.get(OutboxSchema).ensure();
  return dataSource;
}

describe('OutboxTypeormModule on SQLite', () => {
  it('rejects a listenClient: SQLite has no notifications', () => {
    const composed = compose({ listenClient: () => new pg.Client() });
    expect(() => composed.get(OutboxWakeup)).toThrow(
      expect.objectContaining({ code: 'INVALID_CONFIG', message: expect.stringContaining('listenClient') }),
    );
  });

  it('a worker publishes what was committed, and nothing that was rolled back', async () => {
    const published: string[] = [];
    let tell: () => void = () => {};
    const second = new Promise<void>((resolve) => {
      tell = resolve;
    });
    const composed = compose({}, (id) => {
      published.push(id);
      if (published.length === 2) tell();
    });
    const dataSource = await prepared(composed);
    const store = composed.get(TypeormOutboxStore);
    await composed.start();
    await dataSource.transaction(async (em) => {
      await em.insert(Order, { id: '1', status: 'paid' });
      await store.enqueueWith(em, { id: 'paid-1', topic: 'order.paid', payload: 1 });
    });
    const failing = dataSource.transaction(async (em) => {
      await em.insert(Order, { id: '2', status: 'paid' });
      await store.enqueueWith(em, { id: 'paid-2', topic: 'order.paid', payload: 2 });
      throw new Error('no funds');
    });
    await expect(failing).rejects.toThrow('no funds');
    await dataSource.transaction((em) =>
      store.enqueueWith(em, { id: 'paid-3', topic: 'order.paid', payload: 3 }),
    );
    await second;
    await composed.stop();
    expect(published).toEqual(['paid-1', 'paid-3']);
    await dataSource.destroy();
  });

  it('binds the schema, locks and processed messages of the same tables', async () => {
    const composed = compose({ table: 'messages' });
    const dataSource = await prepared(composed);
    expect(await composed.get(OutboxSchema).check()).toEqual([]);
    expect(composed.get(OutboxSchema).print()).toContain('create table if not exists "messages" (');
    expect(await composed.get(JobLock).acquire('sweep', 60_000)).toBeDefined();
    expect(await composed.get(JobLock).acquire('sweep', 60_000)).toBeUndefined();
    expect(await dataSource.query('select name from messages_locks')).toEqual([{ name: 'sweep' }]);
    const worker = { id: 'w1', host: 'h', pid: 1, version: '1', takeoverMs: 1_000 };
    await composed.get(OutboxWorkers).register(worker, { rowsInFlight: 0, isListening: false, outages: [] });
    expect(await dataSource.query('select id, host from messages_workers')).toEqual([
      { id: 'w1', host: 'h' },
    ]);
    expect(await composed.get(OutboxPauses).pause('order.paid')).toBe(true);
    expect((await composed.get(OutboxStore).lookAhead()).pausedTopics).toEqual(['order.paid']);
    await dataSource.destroy();
  });

  it('processes a message once, in the transaction of its consumer', async () => {
    const composed = compose();
    const dataSource = await prepared(composed);
    const processed: ProcessedMessages<EntityManager> = composed.get(ProcessedMessages);
    let runs = 0;
    const consume = (em: EntityManager): Promise<boolean> =>
      processed.processOnce(em, 'billing', 'message-1', async () => {
        runs++;
      });
    const failing = dataSource.transaction(async (em) => {
      await consume(em);
      throw new Error('rolled back');
    });
    await expect(failing).rejects.toThrow('rolled back');
    expect(await dataSource.transaction(consume)).toBe(true);
    expect(await dataSource.transaction(consume)).toBe(false);
    expect(runs).toBe(2);
    await expect(consume(dataSource.manager)).rejects.toMatchObject({ code: 'INVALID_TRANSACTION' });
    await dataSource.destroy();
  });

  it('a function that creates another type of data source is rejected with the type to pass', () => {
    const composed = compose({ type: 'postgres', dataSource: () => new DataSource({ type: 'sqljs' }) });
    expect(() => composed.get(OutboxStore)).toThrow(
      expect.objectContaining({
        code: 'INVALID_CONFIG',
        message: expect.stringMatching(/entities for 'postgres'.*type: 'sqljs'/),
      }),
    );
  });
});

describe('the entities on SQLite', () => {
  it('read rows as on PostgreSQL: times are dates, JSON is parsed', async () => {
    const entities = outboxEntitiesFor({ type: 'sqljs' });
    const dataSource = await open({ entities });
    const before = Date.now();
    await new TypeormOutboxStore(dataSource).enqueue({
      id: 'm1',
      topic: 'order.paid',
      payload: { id: 7 },
      key: 'order-7',
      headers: { a: 'b' },
    });
    const repository = dataSource.getRepository<OutboxRecord>('Outbox');
    const record = await repository.findOneByOrFail({ key: 'order-7' });
    expect(record).toMatchObject({
      id: 'm1',
      payload: { id: 7 },
      headers: { a: 'b' },
      attempts: 0,
      dispatchedAt: null,
      seq: '1',
    });
    expect(record.createdAt).toBeInstanceOf(Date);
    expect(record.createdAt.getTime()).toBeGreaterThanOrEqual(before);
    expect(await repository.countBy({ availableAt: LessThan(new Date(before)) })).toBe(0);
    expect(await repository.countBy({ availableAt: LessThan(new Date(Date.now() + 1)) })).toBe(1);
  });

  it('leave the tables to ensure: synchronize neither creates nor changes them', async () => {
    const entities = outboxEntitiesFor({ type: 'sqljs' });
    const empty = await new DataSource({ type: 'sqljs', entities, synchronize: true }).initialize();
    expect(await empty.query('select name from sqlite_master')).toEqual([]);
    await empty.destroy();

    const dataSource = await open({ entities });
    const catalog = () => dataSource.query('select name, sql from sqlite_master order by name');
    const before = await catalog();
    await dataSource.synchronize();
    expect(await catalog()).toEqual(before);
  });
});
