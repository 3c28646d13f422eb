/** Orders and their messages on MariaDB or MySQL: two workers share the rows, and each customer's come in order. */
import assert from 'node:assert/strict';
import { setImmediate } from 'node:timers/promises';
import { composeModules, type OutboxApp, OutboxModule, type OutboxRow, OutboxSchema } from '@postcommit/core';
import { OutboxTypeormModule, TypeormOutboxStore } from '@postcommit/store-typeorm';
import { openMysqlDatabase } from '@postcommit/tooling/mysql-database';
import { DataSource } from 'typeorm';
import { Order } from './order.js';

const CUSTOMERS = ['ada', 'bob', 'cleo'];
const ORDERS = 30;

const database = await openMysqlDatabase();
const dataSource = await new DataSource({
  type: 'mariadb', // or 'mysql'
  url: database.url,
  entities: [Order],
  synchronize: true,
}).initialize();

const sent: OutboxRow[] = [];
const openOutbox = (): OutboxApp =>
  composeModules([
    OutboxModule.forRoot({ publisher: async (row) => void sent.push(row), batchSize: 5 }),
    OutboxTypeormModule.forRoot({ dataSource }),
  ]);
const apps = [openOutbox(), openOutbox()];
const [app] = apps as [OutboxApp];
const store = app.get(TypeormOutboxStore);
await app.get(OutboxSchema).ensure();

for (let number = 0; number < ORDERS; number++) {
  const customer = CUSTOMERS[number % CUSTOMERS.length] ?? 'ada';
  await dataSource.transaction(async (em) => {
    await em.insert(Order, { id: `order-${number}`, total: 10 * number });
    await store.enqueueWith(em, { topic: 'order.placed', key: customer, payload: { number, customer } });
  });
}
const declined = dataSource.transaction(async (em) => {
  await em.insert(Order, { id: 'declined', total: 1 });
  await store.enqueueWith(em, { topic: 'order.placed', key: 'ada', payload: { number: -1 } });
  throw new Error('card declined');
});
await assert.rejects(declined, /card declined/);

for (const each of apps) await each.start();
while ((await store.count()).pending > 0) await setImmediate();
for (const each of apps) await each.stop();

const orders = await dataSource.getRepository(Order).count();
const counts = await store.count();
await dataSource.destroy();
await database.close();

assert.equal(orders, ORDERS);
assert.deepEqual(counts, { pending: 0, dispatched: ORDERS, dead: 0, total: ORDERS });
assert.equal(new Set(sent.map(({ id }) => id)).size, ORDERS);
for (const customer of CUSTOMERS) {
  const numbers = sent
    .filter(({ key }) => key === customer)
    .map(({ payload }) => (payload as { number: number }).number);
  console.log(`${customer}: ${numbers.join(' ')}`);
  assert.deepEqual(
    numbers,
    numbers.toSorted((a, b) => a - b),
  );
}
console.log(
  `${orders} orders, ${sent.length} messages by two workers, each customer's in order; none for the declined one.`,
);
