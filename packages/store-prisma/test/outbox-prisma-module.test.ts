import {
  composeModules,
  JobLock,
  type Module,
  OutboxDispatcher,
  OutboxModule,
  OutboxPauses,
  type OutboxRow,
  OutboxSchema,
  OutboxStore,
  ProcessedMessages,
} from '@postcommit/core';
import { OutboxWorkers } from '@postcommit/core/internal';
import {
  OutboxPrismaModule,
  type OutboxPrismaModuleOptions,
  PrismaClientToken,
  PrismaOutboxStore,
} from '@postcommit/store-prisma';
import { PrismaPg } from '@prisma/adapter-pg';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { usePostgres } from '../../store-sql/test/postgres-fixture.js';
import { PrismaClient } from './gen/client.js';
import { usePrisma } from './prisma-stores.js';

const fixture = usePostgres(async ({ query }) => {
  await query('create table orders (id text primary key, status text not null)');
});
const prisma = usePrisma(fixture);

beforeEach(async () => {
  await fixture.query(`truncate orders; insert into orders values ('o1', 'open')`);
});

/** The specification's sample, with its dependencies named by a static list. */
class OrderService {
  static readonly inject = [PrismaClientToken, PrismaOutboxStore] as const;
  readonly #prisma: PrismaClient;
  readonly #outbox: PrismaOutboxStore;

  constructor(client: PrismaClient, outbox: PrismaOutboxStore) {
    this.#prisma = client;
    this.#outbox = outbox;
  }

  async pay(id: string): Promise<void> {
    await this.#prisma.$transaction(async (tx) => {
      await tx.order.update({ where: { id }, data: { status: 'paid' } });
      await this.#outbox.enqueueWith(tx, [{ topic: 'order.paid', payload: { id } }]);
    });
  }
}

function compose(options: OutboxPrismaModuleOptions, published: OutboxRow[] = []) {
  const publisher = async (row: OutboxRow): Promise<void> => {
    published.push(row);
  };
  return composeModules(
    [OutboxModule.forRoot({ publisher, worker: false }), OutboxPrismaModule.forRoot(options)],
    {
      preferences: [{ provide: OrderService, useClass: OrderService }],
    },
  );
}

describe('OutboxPrismaModule', () => {
  it('takes an order from payment to publication', async () => {
    const published: OutboxRow[] = [];
    const app = compose({ client: prisma.client, claimTimeoutMs: 60_000 }, published);
    await app.get(OutboxSchema).ensure();
    await app.get(OrderService).pay('o1');
    expect(await app.get(OutboxDispatcher).dispatchPending()).toMatchObject({ fetched: 1, dispatched: 1 });
    expect(published).toMatchObject([{ topic: 'order.paid', payload: { id: 'o1' } }]);
    expect(await prisma.client.order.findMany()).toEqual([{ id: 'o1', status: 'paid' }]);
    expect(app.get(OutboxStore)).toBe(app.get(PrismaOutboxStore));
    expect(app.get(OutboxStore).claimTimeoutMs).toBe(60_000);
  });

  it('does the same with another table and schema', async () => {
    await fixture.query('create schema if not exists messaging');
    const app = compose({ client: prisma.client, schema: 'messaging', table: 'letters' });
    await app.get(OutboxSchema).ensure();
    await app.get(OrderService).pay('o1');
    expect(await fixture.query('select topic from messaging.letters')).toEqual([{ topic: 'order.paid' }]);
    expect(await app.get(OutboxDispatcher).dispatchPending()).toMatchObject({ dispatched: 1 });
  });

  it('provides job locks and processed messages on the same client', async () => {
    const app = compose({ client: prisma.client });
    await app.get(OutboxSchema).ensure();
    const lock = await app.get(JobLock).acquire('sweep', 60_000);
    expect(await app.get(JobLock).acquire('sweep', 60_000)).toBeUndefined();
    expect(await lock?.renew(60_000)).toBe(true);
    await lock?.release();
    const processed = app.get(ProcessedMessages);
    const handler = vi.fn(async () => {});
    const consume = () =>
      prisma.client.$transaction((tx) => processed.processOnce(tx, 'mailer', 'm1', handler));
    expect([await consume(), await consume()]).toEqual([true, false]);
    expect(handler).toHaveBeenCalledOnce();
  });

  it('provides workers and pauses on the same client', async () => {
    const app = compose({ client: prisma.client });
    await app.get(OutboxSchema).ensure();
    const worker = { id: 'w1', host: 'h', pid: 1, version: '1', takeoverMs: 1_000 };
    await app.get(OutboxWorkers).register(worker, { rowsInFlight: 0, isListening: false, outages: [] });
    expect(await app.get(OutboxWorkers).list()).toMatchObject([worker]);
    await app.get(OutboxPauses).pause('order.paid');
    expect((await app.get(OutboxStore).lookAhead()).pausedTopics).toEqual(['order.paid']);
    await fixture.query('truncate outbox_workers, outbox_paused');
  });

  it('disconnects the client of a factory when the application stops', async () => {
    const factory = () => new PrismaClient({ adapter: new PrismaPg({ connectionString: fixture.url }) });
    const clientFactory = vi.fn(factory);
    const app = compose({ clientFactory });
    await app.get(OutboxSchema).ensure();
    await app.start();
    await app.get(OrderService).pay('o1');
    const disconnect = vi.spyOn(app.get(PrismaClientToken), '$disconnect');
    await app.stop();
    expect(clientFactory).toHaveBeenCalledOnce();
    expect(disconnect).toHaveBeenCalledOnce();
  });

  it('does not disconnect a client that was passed', async () => {
    const app = compose({ client: prisma.client });
    const disconnect = vi.spyOn(prisma.client, '$disconnect');
    await app.start();
    await app.stop();
    expect(disconnect).not.toHaveBeenCalled();
    disconnect.mockRestore();
  });

  it('takes a client or a factory, not both', () => {
    const both = { client: prisma.client, clientFactory: () => prisma.client };
    expect(() => OutboxPrismaModule.forRoot(both as unknown as OutboxPrismaModuleOptions)).toThrow(
      'client or clientFactory, not both',
    );
  });

  const inTransaction = { client: { $queryRawUnsafe: () => [] } };
  it.each([
    [{}, 'undefined'],
    [undefined, 'undefined'],
    [{ client: undefined }, 'undefined'],
    [{ client: null }, 'null'],
    [{ client: 'postgres://localhost/x' }, 'a string'],
    [{ client: {} }, 'an object without $queryRawUnsafe()'],
    [inTransaction, 'the client of a transaction'],
  ])('rejects %j, with what to pass', (options, found) => {
    const refusal = expect.objectContaining({
      code: 'INVALID_CONFIG',
      message: `the Prisma store needs a client, got ${found}; pass new PrismaClient({ adapter }), or clientFactory`,
    });
    const given = options as unknown as OutboxPrismaModuleOptions & { client: PrismaClient };
    expect(() => OutboxPrismaModule.forRoot(given)).toThrow(refusal);
    expect(() => new PrismaOutboxStore(given?.client)).toThrow(refusal);
  });

  it('needs its options', () => {
    expect(() => composeModules([OutboxPrismaModule as unknown as Module])).toThrow(
      'OutboxPrismaModule needs options: pass OutboxPrismaModule.forRoot({ … })',
    );
  });
});
