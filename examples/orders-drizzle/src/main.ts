/** An order and its message are written in one transaction of Drizzle, by a store that stands beside this file. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { createOutbox } from '@postcommit/core';
import { inArray } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/node-postgres';
import { integer, pgTable, text } from 'drizzle-orm/pg-core';
import pg from 'pg';
import { drizzleStore } from './drizzle-outbox-store.js';

const { DATABASE_URL } = process.env;
assert.ok(DATABASE_URL, 'Set DATABASE_URL, e.g. to postgres://postgres:postgres@localhost:5432/postgres');

const pool = new pg.Pool({ connectionString: DATABASE_URL });
// A connection that is lost emits an error, which ends the process unless somebody listens.
const reportLoss = (error: Error): void => console.error('lost a connection:', error.message);
pool.on('error', reportLoss).on('connect', (client) => client.on('error', reportLoss));
const db = drizzle(pool);
const orders = pgTable('orders', { id: text().primaryKey(), total: integer().notNull() });
const published = new EventEmitter();

const outbox = createOutbox({
  store: drizzleStore(db),
  publisher: async ({ topic, key = '', payload }) => {
    console.log('published', topic, payload);
    published.emit(key);
  },
});
await outbox.migrate(); // creates or upgrades the outbox tables
await pool.query('create table if not exists orders (id text primary key, total int not null)');

async function placeOrder(id: string, total: number): Promise<void> {
  await db.transaction(async (tx) => {
    await tx.insert(orders).values({ id, total });
    await outbox.enqueueWith(tx, { topic: 'order.placed', key: id, payload: { id } });
    if (total > 100) throw new Error('card declined');
  });
}

const [placed, declined] = [randomUUID(), randomUUID()];
await placeOrder(placed, 30);
await assert.rejects(placeOrder(declined, 500), /card declined/);

const announced = once(published, placed);
await outbox.start();
const signal = await outbox.runUntilSignal({ until: announced });

const found = await db
  .select({ id: orders.id })
  .from(orders)
  .where(inArray(orders.id, [placed, declined]));
const messages = await outbox.store.peek({ state: 'dispatched', key: placed }, 10);
const phantoms = await outbox.store.peek({ key: declined }, 10);
await pool.end();
if (signal) process.exit(); // interrupted: nothing to check

assert.deepEqual(found, [{ id: placed }]);
assert.equal(messages.length, 1);
assert.deepEqual(phantoms, []);
console.log('The placed order was announced; the declined one left neither an order nor a message.');
