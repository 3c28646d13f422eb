/** An order and its message are written in one transaction of a plain pg client: both are there, or neither. */
import assert from 'node:assert/strict';
import { composeModules, DispatchEvents, OutboxModule, OutboxSchema } from '@postcommit/core';
import { OutboxPgModule, PgOutboxStore } from '@postcommit/store-pg';
import { openDatabase } from '@postcommit/tooling/database';
import pg from 'pg';
import { inTransaction } from './in-transaction.js';

const database = await openDatabase();
const pool = new pg.Pool({ connectionString: database.url });
await pool.query('create table orders (id text primary key, total int not null)');
const published: unknown[] = [];

// #region guide
const app = composeModules([
  OutboxModule.forRoot({
    publisher: async (row) => {
      console.log(`published ${row.topic} ${JSON.stringify(row.payload)}`);
      published.push(row.payload);
    },
  }),
  OutboxPgModule.forRoot({ pool }),
]);
await app.get(OutboxSchema).ensure(); // creates the table, or brings it up to date

async function placeOrder(id: string, total: number): Promise<void> {
  await inTransaction(pool, async (client) => {
    await client.query('insert into orders values ($1, $2)', [id, total]);
    await app.get(PgOutboxStore).enqueueWith(client, { topic: 'order.placed', key: id, payload: { id } });
    if (total > 100) throw new Error(`${id}: card declined`);
  });
}
// #endregion

await placeOrder('order-1', 30);
await assert.rejects(placeOrder('order-2', 500), /card declined/);

const firstBatch = new Promise((resolve) => app.get(DispatchEvents).on('batch', resolve));
await app.start();
await firstBatch;
await app.stop();

const { rows: orders } = await pool.query('select id from orders');
const counts = await app.get(PgOutboxStore).count();
await pool.end();
await database.close();

assert.deepEqual(orders, [{ id: 'order-1' }]);
assert.deepEqual(published, [{ id: 'order-1' }]);
assert.deepEqual(counts, { pending: 0, dispatched: 1, dead: 0, total: 1 });
console.log('The placed order was announced; the declined one left neither an order nor a message.');
