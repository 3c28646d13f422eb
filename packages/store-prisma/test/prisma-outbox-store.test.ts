import { PrismaOutboxStore, type PrismaTransactionLike } from '@postcommit/store-prisma';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { expectToGoOnBesideLock, HOLD_ON_POSTGRES } from '../../store-sql/test/keyed-lock-scenario.js';
import { ensureSchema, usePostgres } from '../../store-sql/test/postgres-fixture.js';
import { Prisma, type PrismaClient } from './gen/client.js';
import { openTransaction, usePrisma } from './prisma-stores.js';

const fixture = usePostgres(async (postgres) => {
  await ensureSchema(postgres);
  await postgres.query('create table orders (id text primary key, status text not null)');
});
const prisma = usePrisma(fixture);
const paid = { id: 'm1', topic: 'order.paid', payload: { id: 'o1' } };

let store: PrismaOutboxStore;

beforeEach(async () => {
  await fixture.query('truncate outbox, orders');
  store = new PrismaOutboxStore(prisma.client);
});

/** As applications have them: a method on a model, a computed field, and a hook around every query. */
function extended(client: PrismaClient) {
  return client.$extends({
    model: { order: { countPaid: () => client.order.count({ where: { status: 'paid' } }) } },
    result: { order: { isPaid: { needs: { status: true }, compute: ({ status }) => status === 'paid' } } },
    query: { $allOperations: ({ args, query }) => query(args) },
  });
}

describe('the transaction of the caller', () => {
  it('commits the order and its message together', async () => {
    await prisma.client.$transaction(async (tx) => {
      await tx.order.create({ data: { id: 'o1', status: 'paid' } });
      await store.enqueueWith(tx, paid);
    });
    expect(await prisma.client.order.count()).toBe(1);
    expect(await store.fetchPending(10)).toMatchObject([{ id: 'm1', payload: { id: 'o1' } }]);
  });

  it('rolls back both', async () => {
    const refused = prisma.client.$transaction(async (tx) => {
      await tx.order.create({ data: { id: 'o1', status: 'paid' } });
      await store.enqueueWith(tx, paid);
      throw new Error('card refused');
    });
    await expect(refused).rejects.toThrow('card refused');
    expect(await prisma.client.order.count()).toBe(0);
    expect((await store.count()).total).toBe(0);
  });

  it('can be that of an extended client, or a nested one', async () => {
    await extended(prisma.client).$transaction(async (tx) => {
      await store.enqueueWith(tx, { ...paid, id: 'outer' });
      const nested = tx.$transaction(async (inner) => {
        await store.enqueueWith(inner, { ...paid, id: 'inner' });
        throw new Error('only the inner one');
      });
      await expect(nested).rejects.toThrow('only the inner one');
    });
    expect(await store.fetchPending(10)).toMatchObject([{ id: 'outer' }]);
  });

  it('can be that of a client other than the one that dispatches', async () => {
    const dispatching = new PrismaOutboxStore(extended(prisma.client));
    const keyed = { ...paid, id: 'm2', key: 'o1' };
    await prisma.client.$transaction((tx) => dispatching.enqueueWith(tx, [paid, keyed]));
    expect(await dispatching.fetchPending(10)).toMatchObject([{ id: 'm1' }, { id: 'm2' }]);
  });
});

describe('a handle that is not an open transaction', () => {
  const cases: [string, () => unknown][] = [
    ['the client itself', () => prisma.client],
    ['an extended client', () => extended(prisma.client)],
    ['a pool of another driver', () => fixture.pool],
    ['a promise', () => Promise.resolve()],
    ['a word', () => 'transaction'],
  ];

  it.each(cases)('is rejected and stores nothing: %s', async (_name, handle) => {
    const refused = store.enqueueWith(handle() as PrismaTransactionLike, paid);
    await expect(refused).rejects.toMatchObject({ code: 'INVALID_TRANSACTION' });
    expect((await store.count()).total).toBe(0);
  });

  it.each(['commit', 'rollback'] as const)('is rejected after its %s, with the reason', async (end) => {
    const transaction = await openTransaction(prisma.client);
    await transaction[end]();
    await expect(store.enqueueWith(transaction.tx, paid)).rejects.toMatchObject({
      code: 'INVALID_TRANSACTION',
      message: expect.stringContaining('has already ended'),
      cause: { code: 'P2028' },
    });
    expect((await store.count()).total).toBe(0);
  });

  it('does not compile if it is a client, and compiles if it is a transaction', () => {
    const client: PrismaClient = prisma.client;
    const extendedClient = extended(client);
    const neverCalled = async (): Promise<void> => {
      // @ts-expect-error: the client writes outside of any transaction.
      await store.enqueueWith(client, paid);
      // @ts-expect-error: so does an extended one.
      await store.enqueueWith(extendedClient, paid);
      await client.$transaction((tx) => store.enqueueWith(tx, paid));
      await extendedClient.$transaction((tx) => store.enqueueWith(tx, paid));
    };
    expect(neverCalled).toBeTypeOf('function');
  });
});

describe('errors', () => {
  it('a missing table is reported with the command that creates it', async () => {
    const elsewhere = new PrismaOutboxStore(prisma.client, { table: 'nowhere' });
    for (const attempt of [
      () => elsewhere.enqueue(paid),
      () => elsewhere.fetchPending(1),
      () => elsewhere.count(),
    ]) {
      await expect(attempt()).rejects.toMatchObject({
        code: 'SCHEMA_OUTDATED',
        message: expect.stringContaining('outbox:migrate'),
        cause: expect.any(Prisma.PrismaClientKnownRequestError),
      });
    }
  });

  it('a duplicate id is named; inside a transaction only if it is the only one of the call', async () => {
    await store.enqueue({ ...paid, id: 'taken' });
    const entries = [paid, { ...paid, id: 'taken' }];
    await expect(store.enqueue(entries)).rejects.toThrow("a row with id 'taken' exists already");
    const inside = prisma.client.$transaction((tx) => store.enqueueWith(tx, entries));
    await expect(inside).rejects.toMatchObject({
      code: 'DUPLICATE_ID',
      message: 'a row with one of these ids exists already',
    });
  });

  const faults = {
    'a serialization failure': "raise exception 'try again' using errcode = '40001'",
    'a deadlock': "raise exception 'each waits' using errcode = '40P01'",
    'a lost connection': 'perform pg_terminate_backend(pg_backend_pid())',
  };

  it.each(Object.entries(faults))('%s reaches the caller as Prisma’s error', async (_name, fault) => {
    await fixture.query(`
      create function fail() returns trigger language plpgsql as $$ begin ${fault}; return new; end $$;
      create trigger fail before insert on outbox for each row execute function fail()`);
    try {
      const plain = `insert into outbox (id, topic) values ('m1', 'order.paid')`;
      const expected = await errorOf(prisma.client.$queryRawUnsafe(plain));
      for (const attempt of [
        () => store.enqueue(paid),
        () => prisma.client.$transaction((tx) => store.enqueueWith(tx, paid)),
      ]) {
        const { name, code } = await errorOf(attempt());
        expect({ name, code }).toEqual({ name: expected.name, code: expected.code });
      }
    } finally {
      await fixture.query('drop trigger fail on outbox; drop function fail()');
    }
    expect((await store.count()).total).toBe(0);
  });
});

async function errorOf(promise: PromiseLike<unknown>): Promise<Error & { code?: string }> {
  try {
    await promise;
  } catch (error) {
    return error as Error;
  }
  throw new Error('expected a rejection');
}

it('rows without a key go on while another session holds the lock of keyed claims', async () => {
  const other = await fixture.pool.connect();
  onTestFinished(() => other.release(true));
  await expectToGoOnBesideLock((clock) => new PrismaOutboxStore(prisma.client, { clock }), {
    hold: () => other.query(HOLD_ON_POSTGRES),
    release: () => other.query('rollback'),
  });
});
