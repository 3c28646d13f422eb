/** An order is paid and announced in one transaction; one that rolls back is not. The README shows the middle part. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { composeModules, OutboxModule, OutboxSchema } from '@postcommit/core';
import { OutboxTypeormModule, TypeormOutboxStore } from '@postcommit/store-typeorm';
import { openDatabase } from '@postcommit/tooling/database';
import { DataSource } from 'typeorm';
import { broker } from './broker.js';
import { Order } from './order.js';

const database = await openDatabase();
const dataSource = await new DataSource({
  type: 'postgres',
  url: database.url,
  entities: [Order],
  synchronize: true,
}).initialize();
const id = 'order-7';
await dataSource.getRepository(Order).insert({ id, status: 'new' });
const firstMessage = once(broker, 'sent');

// #region readme
const app = composeModules([
  OutboxModule.forRoot({
    publisher: (row) => broker.send(row.topic, row.payload, { messageId: row.id }),
    maxAttempts: 10,
    backoff: { type: 'exponential', delayMs: 1_000, maxDelayMs: 30_000, jitter: 'full' },
  }),
  OutboxTypeormModule.forRoot({ dataSource }),
]);
await app.get(OutboxSchema).ensure();

await dataSource.transaction(async (em) => {
  await em.update(Order, { id }, { status: 'paid' });
  await app.get(TypeormOutboxStore).enqueueWith(em, { topic: 'order.paid', key: id, payload: { id } });
});

await app.start(); // from here on, a worker publishes what was committed
// #endregion

const rolledBack = dataSource.transaction(async (em) => {
  await app.get(TypeormOutboxStore).enqueueWith(em, { topic: 'order.paid', payload: { id: 'phantom' } });
  throw new Error('card declined');
});
await assert.rejects(rolledBack, /card declined/);
await firstMessage;
await app.stop();

const order = await dataSource.getRepository(Order).findOneByOrFail({ id });
const counts = await app.get(TypeormOutboxStore).count();
await dataSource.destroy();
await database.close();

assert.equal(order.status, 'paid');
assert.deepEqual(
  broker.sent.map(({ topic, payload }) => ({ topic, payload })),
  [{ topic: 'order.paid', payload: { id } }],
);
assert.deepEqual(counts, { pending: 0, dispatched: 1, dead: 0, total: 1 });
console.log('The paid order was announced once; the one that rolled back was not.');
