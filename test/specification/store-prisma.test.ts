import {
  Inject,
  Injectable,
  OutboxModule,
  OutboxPublisher,
  type OutboxRow,
  OutboxSchema,
  OutboxStore,
} from '@postcommit/core';
import { OutboxPrismaModule, PrismaClientToken, PrismaOutboxStore } from '@postcommit/store-prisma';
import { PrismaPg } from '@prisma/adapter-pg';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { PrismaClient } from '../../packages/store-prisma/test/gen/client.js';
import { usePostgres } from '../../packages/store-sql/test/postgres-fixture.js';
import { compose, nextBatch } from './line-up.js';

/** What Prisma makes of the document's own model. */
const DOCUMENTED_TABLE = `
  create table outbox (
    id varchar(36) primary key,
    topic varchar(255) not null,
    payload jsonb,
    created_at timestamp(3) not null default current_timestamp,
    dispatched_at timestamp(3),
    dead_at timestamp(3),
    claimed_at timestamp(3),
    claim_token varchar(36),
    attempts integer not null default 0,
    last_error text
  );
  create index idx_outbox_pending on outbox (dispatched_at, dead_at, created_at);
  create index idx_outbox_claimed on outbox (claimed_at)`;

const fixture = usePostgres(async ({ query }) => {
  await query('create table orders (id text primary key, status text not null)');
});

beforeEach(async () => {
  await fixture.query(
    'drop table if exists outbox, outbox_locks, outbox_processed, outbox_workers, outbox_paused',
  );
  await fixture.query(`truncate orders; insert into orders values ('7', 'new')`);
});

@Injectable()
class OrderService {
  constructor(
    @Inject(PrismaClientToken) private readonly prisma: PrismaClient,
    @Inject(PrismaOutboxStore) private readonly outbox: PrismaOutboxStore,
  ) {}

  async pay(id: string): Promise<void> {
    await this.prisma.$transaction(async (tx) => {
      await tx.order.update({ where: { id }, data: { status: 'paid' } });
      await this.outbox.enqueueWith(tx, [{ topic: 'order.paid', payload: { id } }]);
    });
  }

  async payAndFail(id: string): Promise<void> {
    await this.prisma.$transaction(async (tx) => {
      await tx.order.update({ where: { id }, data: { status: 'paid' } });
      await this.outbox.enqueueWith(tx, [{ topic: 'order.paid', payload: { id } }]);
      throw new Error('the card was declined');
    });
  }
}

class Recorder extends OutboxPublisher {
  readonly published: unknown[] = [];
  async publish(row: OutboxRow): Promise<void> {
    this.published.push(row.payload);
  }
}

function composeDocumented() {
  const modules = [
    OutboxModule,
    OutboxPrismaModule.forRoot({
      clientFactory: () => new PrismaClient({ adapter: new PrismaPg({ connectionString: fixture.url }) }),
      claimTimeoutMs: 5 * 60_000,
    }),
  ];
  const recorder = new Recorder();
  const app = compose(modules, {
    preferences: [
      { provide: OrderService, useClass: OrderService },
      { provide: OutboxPublisher, useValue: recorder },
    ],
  });
  return { app, recorder };
}

/** The document's model, and what `outbox:migrate` adds to it; or `outbox:migrate` alone. */
const tables = [
  { from: 'nothing', documented: '' },
  { from: 'the document’s own model', documented: DOCUMENTED_TABLE },
];

describe.each(tables)('the line-up of the document, on a table from $from', ({ documented }) => {
  beforeEach(async () => {
    if (documented) await fixture.query(documented);
  });

  it('pays an order, and publishes its message', async () => {
    const { app, recorder } = composeDocumented();
    await app.get(OutboxSchema).ensure();
    const batch = nextBatch(app);
    await app.start();
    await app.get(OrderService).pay('7');
    expect(await fixture.query('select status from orders')).toEqual([{ status: 'paid' }]);
    expect(await batch).toMatchObject({ fetched: 1, dispatched: 1 });
    expect(recorder.published).toEqual([{ id: '7' }]);
    expect(app.get(OutboxStore)).toBe(app.get(PrismaOutboxStore));
    expect(app.get(OutboxStore).claimTimeoutMs).toBe(300_000);
  });

  it('keeps neither write of a transaction that fails', async () => {
    const { app } = composeDocumented();
    await app.get(OutboxSchema).ensure();
    await app.start();
    await expect(app.get(OrderService).payAndFail('7')).rejects.toThrow('the card was declined');
    expect(await fixture.query('select status from orders')).toEqual([{ status: 'new' }]);
    expect(await app.get(OutboxStore).count()).toMatchObject({ total: 0 });
  });
});

it('a table from the document’s own model is rejected until it is migrated, with what to do', async () => {
  await fixture.query(DOCUMENTED_TABLE);
  const { app } = composeDocumented();
  onTestFinished(() => app.get(PrismaClientToken).$disconnect());
  await expect(app.get(OrderService).pay('7')).rejects.toMatchObject({
    code: 'SCHEMA_OUTDATED',
    message: expect.stringContaining('outbox:migrate'),
  });
  expect(await fixture.query('select status from orders')).toEqual([{ status: 'new' }]);
});
