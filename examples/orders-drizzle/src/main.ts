/** An order and its message are written in one transaction of Drizzle, by a store that stands beside this file. */
import assert from 'node:assert/strict';
import { OutboxDispatcher } from '@postcommit/core';
import { SqlOutboxSchema } from '@postcommit/store-sql';
import { openDatabase } from '@postcommit/tooling/database';
import { drizzle } from 'drizzle-orm/node-postgres';
import { integer, pgTable, text } from 'drizzle-orm/pg-core';
import pg from 'pg';
import { DrizzleOutboxStore, drizzleExecutor } from './drizzle-outbox-store.js';

const database = await openDatabase();
const pool = new pg.Pool({ connectionString: database.url });
await pool.query('create table orders (id text primary key, total int not null)');
const orders = pgTable('orders', { id: text().primaryKey(), total: integer().notNull() });

const db = drizzle(pool);
const outbox = new DrizzleOutboxStore(db);
await new SqlOutboxSchema(drizzleExecutor(db)).ensure(); // creates the table, or brings it up to date

async function placeOrder(id: string, total: number): Promise<void> {
  await db.transaction(async (tx) => {
    await tx.insert(orders).values({ id, total });
    await outbox.enqueueWith(tx, { topic: 'order.placed', key: id, payload: { id } });
    if (total > 100) throw new Error(`${id}: card declined`);
  });
}

await placeOrder('order-1', 30);
await assert.rejects(placeOrder('order-2', 500), /card declined/);

const published: unknown[] = [];
const dispatcher = new OutboxDispatcher(outbox, async ({ topic, payload }) => {
  console.log(`published ${topic} ${JSON.stringify(payload)}`);
  published.push(payload);
});
const summary = await dispatcher.dispatchPending();

const placed = await db.select({ id: orders.id }).from(orders);
const counts = await outbox.count();
await outbox.flushWakeup();
await pool.end();
await database.close();

assert.deepEqual(placed, [{ id: 'order-1' }]);
assert.deepEqual(published, [{ id: 'order-1' }]);
assert.equal(summary.dispatched, 1);
assert.deepEqual(counts, { pending: 0, dispatched: 1, dead: 0, total: 1 });
console.log('The placed order was announced; the declined one left neither an order nor a message.');
