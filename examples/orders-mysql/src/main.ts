/** Orders and their messages on MariaDB or MySQL: two workers share the rows, and each customer's come in order. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { createOutbox, type OutboxRow } from '@postcommit/core';
import { typeormStore } from '@postcommit/store-typeorm';
import { DataSource } from 'typeorm';
import { Order } from './order.js';

const { MYSQL_URL } = process.env;
assert.ok(MYSQL_URL, 'Set MYSQL_URL to a database of yours, e.g. to mysql://root@127.0.0.1:3306/shop');

const ORDERS = 30;
const customers = ['ada', 'bob', 'cleo'].map((name) => `${name}-${randomUUID().slice(0, 8)}`);
const dataSource = new DataSource({
  type: 'mariadb', // or 'mysql'
  url: MYSQL_URL,
  entities: [Order],
  synchronize: true, // creates the table `orders`; it leaves the outbox tables alone
});
await dataSource.initialize();

const sent: OutboxRow[] = [];
const sendings = new EventEmitter();
async function send(row: OutboxRow): Promise<void> {
  if (!customers.includes(row.key ?? '')) return;
  sent.push(row);
  if (sent.length === ORDERS) sendings.emit('all');
}

// One is enough for an application. Two show that they never publish the same row.
const outboxes = Array.from({ length: 2 }, () =>
  createOutbox({ store: typeormStore(dataSource), publisher: send, batchSize: 5 }),
);
const [outbox] = outboxes as [(typeof outboxes)[0]];
await outbox.migrate(); // creates or upgrades the outbox tables

async function placeOrder(number: number, isDeclined: boolean): Promise<void> {
  const customer = customers[number % customers.length] ?? '';
  await dataSource.transaction(async (em) => {
    await em.insert(Order, { id: randomUUID(), customer, total: 10 * number });
    await outbox.enqueueWith(em, { topic: 'order.placed', key: customer, payload: { number } });
    if (isDeclined) throw new Error('card declined');
  });
}

for (let number = 0; number < ORDERS; number++) await placeOrder(number, false);
await assert.rejects(placeOrder(ORDERS, true), /card declined/);

const all = once(sendings, 'all');
// Each listens for signals as soon as it runs, and not only when the other one runs too.
const runs = outboxes.map(async (each) => {
  await each.start();
  return each.runUntilSignal({ until: all });
});
const [signal] = await Promise.all(runs);

const orders = await Promise.all(
  customers.map((customer) => dataSource.getRepository(Order).countBy({ customer })),
);
const messages = await Promise.all(
  customers.map((key) => outbox.store.peek({ key, state: 'dispatched' }, ORDERS + 1)),
);
await dataSource.destroy();
if (signal) process.exit(); // interrupted: nothing to check

for (const [index, customer] of customers.entries()) {
  const own = sent.filter(({ key }) => key === customer);
  const numbers = own.map(({ payload }) => (payload as { number: number }).number);
  console.log(`${customer}: ${numbers.join(' ')}`);
  assert.equal(orders[index], ORDERS / customers.length);
  assert.equal(messages[index]?.length, ORDERS / customers.length);
  assert.deepEqual(
    numbers,
    Array.from({ length: ORDERS / customers.length }, (_, place) => index + customers.length * place),
  );
}
console.log(`${ORDERS} messages by two workers, each customer's in order; none for the declined order.`);
