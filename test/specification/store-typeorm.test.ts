import { Inject, Injectable, OutboxDispatcher, OutboxModule, OutboxStore } from '@postcommit/core';
import { OutboxTypeormModule, TypeormOutboxStore } from '@postcommit/store-typeorm';
import { DataSource } from 'typeorm';
import { beforeEach, describe, expect, it } from 'vitest';
import { shiftTimes, usePostgres } from '../../packages/store-sql/test/postgres-fixture.js';
import { Order, OrderEntity } from '../../packages/store-typeorm/test/order.js';
import { compose } from './line-up.js';
import { useOrdersDatabase } from './orders-database.js';

@Injectable()
class OrderService {
  constructor(
    @Inject(DataSource) private readonly db: DataSource,
    @Inject(TypeormOutboxStore) private readonly outbox: TypeormOutboxStore,
  ) {}

  async pay(id: string): Promise<void> {
    await this.db.transaction(async (em) => {
      await em.update(Order, { id }, { status: 'paid' });
      await this.outbox.enqueueWith(em, [{ topic: 'order.paid', payload: { id } }]);
    });
  }
}

describe('the line-up of the document', () => {
  const empty = usePostgres(async () => {});

  it('creates the table by synchronize, and pays an order', async () => {
    const modules = [
      OutboxModule,
      OutboxTypeormModule.forRoot({
        dataSource: (entities) =>
          new DataSource({
            type: 'postgres',
            url: empty.url,
            synchronize: true,
            entities: [OrderEntity, ...entities],
          }),
        claimTimeoutMs: 5 * 60_000,
      }),
    ];
    const app = compose(modules, { preferences: [{ provide: OrderService, useClass: OrderService }] });
    const db = await app.get(DataSource).initialize();
    try {
      await db.getRepository(Order).insert({ id: '7', status: 'new' });
      await app.get(OrderService).pay('7');
      expect(await empty.query('select status from orders')).toEqual([{ status: 'paid' }]);
      expect(await empty.query('select topic, payload from outbox')).toEqual([
        { topic: 'order.paid', payload: { id: '7' } },
      ]);
      expect(app.get(OutboxStore)).toBe(app.get(TypeormOutboxStore));
      expect(app.get(OutboxStore).claimTimeoutMs).toBe(300_000);
    } finally {
      await db.destroy();
    }
  });
});

const database = useOrdersDatabase();

describe('transactional enqueue', () => {
  it('commits or rolls back both writes together', async () => {
    const app = compose([
      OutboxModule,
      OutboxTypeormModule.forRoot({ dataSource: database.dataSource, claimTimeoutMs: 5 * 60_000 }),
    ]);
    const db = app.get(DataSource);
    const outbox = app.get(TypeormOutboxStore);
    const id = '7';
    const paid = db.transaction(async (em) => {
      await em.update(Order, { id }, { status: 'paid' });
      await outbox.enqueueWith(em, [{ topic: 'order.paid', payload: { id } }]);
      throw new Error('the card was declined');
    });
    await expect(paid).rejects.toThrow('the card was declined');
    expect(await database.statusOf('7')).toBe('new');
    expect(await outbox.count()).toMatchObject({ total: 0 });
    await db.transaction(async (em) => {
      await em.update(Order, { id }, { status: 'paid' });
      await outbox.enqueueWith(em, [{ topic: 'order.paid', payload: { id } }]);
    });
    expect(await database.statusOf('7')).toBe('paid');
    expect(await outbox.count()).toMatchObject({ pending: 1 });
  });

  it('shows nothing to a dispatcher before the commit', async () => {
    const outbox = new TypeormOutboxStore(database.dataSource);
    await database.dataSource.transaction(async (em) => {
      await outbox.enqueueWith(em, [{ topic: 'order.paid', payload: {} }]);
      expect(await outbox.fetchPending(10)).toEqual([]);
    });
    expect(await outbox.fetchPending(10)).toHaveLength(1);
  });
});

describe('multi-dispatcher safety', () => {
  const claimTimeoutMs = 5 * 60_000;
  let one: TypeormOutboxStore;
  let other: TypeormOutboxStore;
  beforeEach(() => {
    one = new TypeormOutboxStore(database.dataSource, { claimTimeoutMs });
    other = new TypeormOutboxStore(database.dataSource, { claimTimeoutMs });
  });
  const entries = (count: number) => Array.from({ length: count }, (_, payload) => ({ topic: 't', payload }));
  const ids = (rows: readonly { id: string }[]): string[] => rows.map(({ id }) => id);

  it('lets two dispatchers claim disjoint rows, each with its own token', async () => {
    const all = await one.enqueue(entries(100));
    const [mine, yours] = await Promise.all([one.fetchPending(60), other.fetchPending(60)]);
    const rest = await one.fetchPending(60);
    expect([...ids(mine), ...ids(yours), ...ids(rest)].sort()).toEqual([...all].sort());
    const claims = await database.query(
      'select distinct claim_token, claimed_at is not null as claimed from outbox',
    );
    expect(claims.every(({ claimed }) => claimed === true)).toBe(true);
    expect(claims).toHaveLength([mine, yours, rest].filter(({ length }) => length > 0).length);
  });

  it('lets another instance claim a row once its claim is older than claimTimeoutMs', async () => {
    await one.enqueue(entries(1));
    const crashed = await one.fetchPending(10);
    await shiftTimes(database, claimTimeoutMs - 60_000);
    expect(await other.fetchPending(10)).toEqual([]);
    await shiftTimes(database, 60_000);
    expect(ids(await other.fetchPending(10))).toEqual(ids(crashed));
  });

  it('retries a row on the next tick after markFailed', async () => {
    const [id = ''] = await one.enqueue(entries(1));
    await one.fetchPending(10);
    await one.markFailed(id, 'timeout');
    expect(await database.query('select claimed_at, claim_token from outbox')).toEqual([
      { claimed_at: null, claim_token: null },
    ]);
    expect(ids(await other.fetchPending(10))).toEqual([id]);
  });

  it('publishes each row once, by two dispatchers', async () => {
    const published: string[] = [];
    const publisher = async ({ id }: { id: string }): Promise<void> => void published.push(id);
    const all = await one.enqueue(entries(200));
    const dispatchers = [one, other].map((store) => new OutboxDispatcher(store, publisher));
    for (let round = 0; round < 3; round++)
      await Promise.all(dispatchers.map((dispatcher) => dispatcher.dispatchPending(40)));
    expect(published.sort()).toEqual([...all].sort());
  });
});
