import { TypeormOutboxStore } from '@postcommit/store-typeorm';
import { DataSource, type EntityManager, QueryFailedError } from 'typeorm';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { expectToGoOnBesideLock, HOLD_ON_POSTGRES } from '../../store-sql/test/keyed-lock-scenario.js';
import { ensureSchema, usePostgres } from '../../store-sql/test/postgres-fixture.js';
import { Order, OrderEntity } from './order.js';
import { useDataSource } from './typeorm-stores.js';

const fixture = usePostgres(async (postgres) => {
  await ensureSchema(postgres);
  await postgres.query('create table orders (id varchar primary key, status varchar not null)');
});
const source = useDataSource(fixture, { entities: [OrderEntity] });
const paid = { id: 'message-1', topic: 'order.paid', payload: { id: '1' } };

beforeEach(async () => {
  await fixture.query('truncate outbox, orders');
  await fixture.query("insert into orders values ('1', 'new')");
});

function createStore(): TypeormOutboxStore {
  return new TypeormOutboxStore(source.dataSource);
}

async function statusOfOrder(): Promise<unknown> {
  return (await fixture.query("select status from orders where id = '1'"))[0]?.status;
}

describe('enqueueWith', () => {
  it('stores the message if the business transaction commits', async () => {
    const store = createStore();
    const ids = await source.dataSource.transaction(async (em) => {
      await em.update(Order, { id: '1' }, { status: 'paid' });
      return store.enqueueWith(em, paid);
    });
    expect(ids).toEqual(['message-1']);
    expect(await statusOfOrder()).toBe('paid');
    expect(await store.peek({}, 10)).toMatchObject([paid]);
  });

  it('stores nothing if the business transaction rolls back', async () => {
    const store = createStore();
    const failing = source.dataSource.transaction(async (em) => {
      await em.update(Order, { id: '1' }, { status: 'paid' });
      await store.enqueueWith(em, paid);
      throw new Error('no funds');
    });
    await expect(failing).rejects.toThrow('no funds');
    expect(await statusOfOrder()).toBe('new');
    expect((await store.count()).total).toBe(0);
  });

  it('rolls back a nested transaction only', async () => {
    const store = createStore();
    await source.dataSource.transaction(async (em) => {
      await store.enqueueWith(em, paid);
      const nested = em.transaction(async (inner) => {
        await store.enqueueWith(inner, { ...paid, id: 'message-2' });
        throw new Error('inner');
      });
      await expect(nested).rejects.toThrow('inner');
    });
    expect((await store.peek({}, 10)).map(({ id }) => id)).toEqual(['message-1']);
  });
});

describe('a handle that is not a transaction', () => {
  const handles: Record<string, { make: () => unknown; says: RegExp }> = {
    'the data source': { make: () => source.dataSource, says: /got DataSource;/ },
    'the manager of the data source': { make: () => source.dataSource.manager, says: /dataSource\.manager/ },
    'a manager without a transaction': {
      make: () => source.dataSource.createQueryRunner().manager,
      says: /not in a transaction/,
    },
    'a query runner': { make: () => source.dataSource.createQueryRunner(), says: /got PostgresQueryRunner;/ },
    'a repository': { make: () => source.dataSource.getRepository(Order), says: /got Repository;/ },
    'a string': { make: () => 'transaction', says: /got String;/ },
    'a bare object': { make: () => Object.create(null), says: /got object;/ },
    nothing: { make: () => undefined, says: /undefined/ },
  };

  it.each(Object.entries(handles))('%s is rejected and stores nothing', async (_name, { make, says }) => {
    const store = createStore();
    const refused = store.enqueueWith(make() as EntityManager, paid);
    await expect(refused).rejects.toMatchObject({
      code: 'INVALID_TRANSACTION',
      message: expect.stringMatching(says),
    });
    expect((await store.count()).total).toBe(0);
  });

  const noConnection = {
    code: 'INVALID_TRANSACTION',
    message: expect.stringContaining('no longer has a connection'),
  };

  it('a manager whose transaction has ended is rejected', async () => {
    const store = createStore();
    const kept = await source.dataSource.transaction(async (em) => em);
    await expect(store.enqueueWith(kept, paid)).rejects.toMatchObject(noConnection);
    expect((await store.count()).total).toBe(0);
  });

  it('a manager whose connection was lost is rejected', async () => {
    const store = createStore();
    const lost = source.dataSource.transaction(async (em) => {
      const [{ pid }] = await em.query('select pg_backend_pid() as pid');
      const released = vi.waitUntil(() => em.queryRunner?.isReleased);
      await fixture.query(`select pg_terminate_backend(${pid})`);
      await released;
      await store.enqueueWith(em, paid);
    });
    await expect(lost).rejects.toMatchObject(noConnection);
    expect((await store.count()).total).toBe(0);
  });

  it('a data source, a query runner and a pg client do not compile', () => {
    const store = createStore();
    const uncalled = async (): Promise<void> => {
      // @ts-expect-error a data source writes outside of any transaction
      await store.enqueueWith(source.dataSource, paid);
      // @ts-expect-error its manager is the handle
      await store.enqueueWith(source.dataSource.createQueryRunner(), paid);
      // @ts-expect-error of another driver
      await store.enqueueWith(await fixture.pool.connect(), paid);
    };
    expect(uncalled).toBeTypeOf('function');
  });
});

describe('errors', () => {
  it('a missing table names the command that creates it', async () => {
    const store = new TypeormOutboxStore(source.dataSource, { table: 'nowhere' });
    const expected = { code: 'SCHEMA_OUTDATED', message: expect.stringMatching(/"nowhere".*outbox:migrate/) };
    await expect(store.enqueue(paid)).rejects.toMatchObject(expected);
    await expect(store.fetchPending(10)).rejects.toMatchObject(expected);
    await expect(source.dataSource.transaction((em) => store.enqueueWith(em, paid))).rejects.toMatchObject(
      expected,
    );
  });

  it('a duplicate id is named, with the error of the driver as cause', async () => {
    const store = createStore();
    await store.enqueue(paid);
    const twice = store.enqueue([{ ...paid, id: 'message-0' }, paid]);
    await expect(twice).rejects.toMatchObject({
      code: 'DUPLICATE_ID',
      message: expect.stringContaining("'message-1'"),
      cause: expect.any(QueryFailedError),
    });
  });

  it.each(['40001', '40P01', '57014'])('SQLSTATE %s is TypeORM’s own error', async (state) => {
    await fixture.query(`
      create or replace function fail() returns trigger language plpgsql
      as $$ begin raise exception 'forced' using errcode = '${state}'; end $$`);
    await fixture.query(
      'create or replace trigger fail before insert or update on outbox execute function fail()',
    );
    try {
      const store = createStore();
      for (const failing of [
        () => store.enqueue(paid),
        () => store.fetchPending(10),
        () => source.dataSource.transaction((em) => store.enqueueWith(em, paid)),
      ]) {
        const error: unknown = await failing().catch((reason: unknown) => reason);
        expect(error).toBeInstanceOf(QueryFailedError);
        expect(error).toMatchObject({ driverError: { code: state }, message: 'forced' });
      }
    } finally {
      await fixture.query('drop trigger fail on outbox');
    }
  });
});

it('the tables are in the schema of the data source, as its entities are', async () => {
  await fixture.query('create schema tenant');
  await fixture.query('create table tenant.outbox (like outbox including all)');
  const dataSource = new DataSource({ type: 'postgres', url: fixture.url, schema: 'tenant' });
  await dataSource.initialize();
  await new TypeormOutboxStore(dataSource).enqueue(paid);
  expect(await fixture.query('select id from tenant.outbox')).toEqual([{ id: 'message-1' }]);
  expect((await createStore().count()).total).toBe(0);
  await dataSource.destroy();
});

it('rows without a key go on while another session holds the lock of keyed claims', async () => {
  const other = await fixture.pool.connect();
  onTestFinished(() => other.release(true));
  await expectToGoOnBesideLock((clock) => new TypeormOutboxStore(source.dataSource, { clock }), {
    hold: () => other.query(HOLD_ON_POSTGRES),
    release: () => other.query('rollback'),
  });
});
