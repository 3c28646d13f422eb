import { Injectable, OutboxModule, OutboxPublisher, type OutboxRow, OutboxStore } from '@postcommit/core';
import { contributeListeners, OnEvent, OutboxEvent, OutboxEventsModule } from '@postcommit/publisher-events';
import { OutboxMemoryModule } from '@postcommit/store-memory';
import { OutboxTypeormModule, TypeormOutboxStore } from '@postcommit/store-typeorm';
import { DataSource } from 'typeorm';
import { beforeEach, describe, expect, it } from 'vitest';
import { Order, OrderEntity } from '../../packages/store-typeorm/test/order.js';
import { HttpWebhookPublisher, hook } from './http-webhook-publisher.js';
import { compose, nextBatch } from './line-up.js';
import { useOrdersDatabase } from './orders-database.js';
import { useWebhookServer } from './webhook-server.js';

const database = useOrdersDatabase();
const server = useWebhookServer();
const published: unknown[] = [];

beforeEach(() => {
  published.length = 0;
  hook.url = server.url;
});

@Injectable()
class Recorder extends OutboxPublisher {
  async publish({ topic, payload }: OutboxRow): Promise<void> {
    published.push({ topic, payload });
  }
}

@Injectable()
class OrderProjector {
  @OnEvent(OutboxEvent, { name: 'order-projector' })
  on({ topic, payload }: OutboxEvent) {
    published.push({ topic, payload });
  }
}

/** It opens its own data source at the start, and closes it when it stops. */
const typeorm = () =>
  OutboxTypeormModule.forRoot({
    dataSource: (entities) =>
      new DataSource({ type: 'postgres', url: database.url, entities: [OrderEntity, ...entities] }),
  });

const paid = { topic: 'order.paid', payload: { id: '7' } };

async function pay(db: DataSource, outbox: TypeormOutboxStore): Promise<void> {
  await db.transaction(async (em) => {
    await em.update(Order, { id: '7' }, { status: 'paid' });
    await outbox.enqueueWith(em, [paid]);
  });
}

describe('every line-up starts, delivers and stops', () => {
  it('tests, or a single-process toy app', async () => {
    const app = compose([OutboxModule, OutboxMemoryModule], {
      preferences: [{ provide: OutboxPublisher, useClass: Recorder }],
    });
    const batch = nextBatch(app);
    await app.start();
    await app.get(OutboxStore).enqueue([paid]);
    expect(await batch).toMatchObject({ dispatched: 1 });
    await app.stop();
    expect(published).toEqual([paid]);
    expect(await app.get(OutboxStore).count()).toMatchObject({ pending: 0, dispatched: 1 });
  });

  it('production with database and EventBus listeners', async () => {
    const app = compose([
      OutboxModule,
      typeorm(),
      OutboxEventsModule,
      { name: 'OrdersModule', contributes: contributeListeners(OrderProjector) },
    ]);
    const batch = nextBatch(app);
    await app.start();
    await pay(app.get(DataSource), app.get(TypeormOutboxStore));
    expect(await batch).toMatchObject({ dispatched: 1 });
    await app.stop();
    expect(published).toEqual([paid]);
    expect(await database.statusOf('7')).toBe('paid');
    expect(await new TypeormOutboxStore(database.dataSource).count()).toMatchObject({
      dispatched: 1,
      total: 1,
    });
  });

  it('production publishing to webhooks', async () => {
    const app = compose([OutboxModule, typeorm()], {
      preferences: [{ provide: OutboxPublisher, useClass: HttpWebhookPublisher }],
    });
    const batch = nextBatch(app);
    await app.start();
    await pay(app.get(DataSource), app.get(TypeormOutboxStore));
    expect(await batch).toMatchObject({ dispatched: 1 });
    await app.stop();
    expect(server.received.map(({ body }) => body)).toEqual([paid]);
    expect(await new TypeormOutboxStore(database.dataSource).count()).toMatchObject({
      dispatched: 1,
      total: 1,
    });
  });
});
