/** An order and its message are written in one transaction of a plain pg client: both are there, or neither. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { createOutbox } from '@postcommit/core';
import { inTransaction, pgStore } from '@postcommit/store-pg';
import pg from 'pg';

const { DATABASE_URL } = process.env;
assert.ok(DATABASE_URL, 'Set DATABASE_URL, e.g. to postgres://postgres:postgres@localhost:5432/postgres');

const pool = new pg.Pool({ connectionString: DATABASE_URL });
const published = new EventEmitter();

const outbox = createOutbox({
  store: pgStore(pool),
  // Your broker, webhook or mailer. A promise that resolves means delivered.
  publisher: async ({ topic, key = '', payload }) => {
    console.log('published', topic, payload);
    published.emit(key);
  },
});
await outbox.migrate(); // creates or upgrades the outbox tables
await pool.query('create table if not exists orders (id text primary key, total int not null)');

async function placeOrder(id: string, total: number): Promise<void> {
  await inTransaction(pool, async (tx) => {
    await tx.query('insert into orders values ($1, $2)', [id, total]);
    await outbox.enqueueWith(tx, { topic: 'order.placed', key: id, payload: { id, total } });
    if (total > 100) throw new Error('card declined');
  });
}

const [placed, declined] = [randomUUID(), randomUUID()];
await placeOrder(placed, 30);
await assert.rejects(placeOrder(declined, 500), /card declined/);

const announced = once(published, placed);
await outbox.start();
// Yours runs until SIGTERM or Ctrl-C. This one also ends when its message was published.
const signal = await outbox.runUntilSignal({ until: announced });

const { rows: orders } = await pool.query('select id from orders where id in ($1, $2)', [placed, declined]);
const messages = await outbox.store.peek({ state: 'dispatched', key: placed }, 10);
const phantoms = await outbox.store.peek({ key: declined }, 10);
await pool.end();
if (signal) process.exit(); // interrupted: nothing to check

assert.deepEqual(orders, [{ id: placed }]);
assert.equal(messages.length, 1);
assert.deepEqual(phantoms, []);
console.log('The placed order was announced; the declined one left neither an order nor a message.');
