/** An order is paid and announced in one transaction of the entity manager; one that rolls back is not announced. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createOutbox } from '@postcommit/core';
import { typeormStore } from '@postcommit/store-typeorm';
import { DataSource } from 'typeorm';
import { broker } from './broker.js';
import { Order } from './order.js';

const { DATABASE_URL } = process.env;
assert.ok(DATABASE_URL, 'Set DATABASE_URL, e.g. to postgres://postgres:postgres@localhost:5432/postgres');

const dataSource = new DataSource({
  type: 'postgres',
  url: DATABASE_URL,
  entities: [Order],
  synchronize: true, // creates the table of the orders; it leaves the outbox tables alone
});
await dataSource.initialize();

const outbox = createOutbox({
  store: typeormStore(dataSource),
  publisher: (row) => broker.send(row.topic, row.payload, { messageId: row.id }),
  maxAttempts: 10,
  backoff: { type: 'exponential', delayMs: 1_000, maxDelayMs: 30_000, jitter: 'full' },
});
await outbox.migrate(); // creates or upgrades the outbox tables

async function pay(id: string, isDeclined: boolean): Promise<string | undefined> {
  return dataSource.transaction(async (em) => {
    await em.insert(Order, { id, status: 'paid' });
    const [messageId] = await outbox.enqueueWith(em, { topic: 'order.paid', key: id, payload: { id } });
    if (isDeclined) throw new Error('card declined');
    return messageId;
  });
}

const [paid, declined] = [randomUUID(), randomUUID()];
const messageId = await pay(paid, false);
await assert.rejects(pay(declined, true), /card declined/);

const sent = once(broker, String(messageId));
await outbox.start(); // from here on, a worker publishes what was committed
// Yours runs until SIGTERM or Ctrl-C. This one also ends when its message was sent.
const signal = await outbox.runUntilSignal({ until: sent });

const orders = await dataSource.getRepository(Order).findBy([{ id: paid }, { id: declined }]);
const messages = await outbox.store.peek({ state: 'dispatched', key: paid }, 10);
const phantoms = await outbox.store.peek({ key: declined }, 10);
await dataSource.destroy();
if (signal) process.exit(); // interrupted: nothing to check

assert.deepEqual(orders, [{ id: paid, status: 'paid' }]);
assert.equal(messages.length, 1);
assert.deepEqual(phantoms, []);
console.log('The paid order was announced; the one that rolled back left neither an order nor a message.');
