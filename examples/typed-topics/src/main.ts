/** One schema gives a topic its type for the compiler and its check at run time, for old rows as well. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { createOutbox } from '@postcommit/core';
import { pgStore } from '@postcommit/store-pg';
import pg from 'pg';
import { topics } from './topics.js';

const { DATABASE_URL } = process.env;
assert.ok(DATABASE_URL, 'Set DATABASE_URL, e.g. to postgres://postgres:postgres@localhost:5432/postgres');

const pool = new pg.Pool({ connectionString: DATABASE_URL });
const ledger = new Map<string, string>();
const ended = new EventEmitter();

const outbox = createOutbox({
  store: pgStore(pool),
  topics,
  // `row.topic` tells the compiler which payload it is.
  publisher: async (row) => {
    const isPaid = row.topic === 'order.paid';
    const line = isPaid ? `paid ${row.payload.cents / 100}` : `cancelled: ${row.payload.reason}`;
    console.log(`${row.payload.orderId} ${line}`);
    ledger.set(row.id, line);
    ended.emit(row.id);
  },
  onDead: ({ row }) => ended.emit(row.id),
});
await outbox.migrate();

const [paid = '', cancelled = ''] = await outbox.enqueue([
  { topic: 'order.paid', payload: { orderId: 'order-7', cents: 1250 } },
  { topic: 'order.cancelled', payload: { orderId: 'order-8', reason: 'stock' } },
]);
await assert.rejects(
  // @ts-expect-error: this does not compile. What gets past the compiler is refused before it is stored.
  outbox.enqueue({ topic: 'order.paid', payload: { orderId: 'order-7', cents: '12.50' } }),
  { code: 'SCHEMA_MISMATCH', message: /cents/ },
);
// Stored by last year's release, when amounts were in euros.
const old = randomUUID();
await pool.query(
  `insert into outbox (id, topic, payload) values ($1, 'order.paid', '{"orderId": "order-1", "euros": 12}')`,
  [old],
);

const all = Promise.all([paid, cancelled, old].map((id) => once(ended, id)));
await outbox.start();
const signal = await outbox.runUntilSignal({ until: all });

const [dead] = await outbox.store.peek({ id: old }, 1);
await pool.end();
if (signal) process.exit(); // interrupted: nothing to check

console.log(`the old row is dead: ${dead?.deadReason}, ${dead?.lastError}`);
assert.equal(ledger.get(paid), 'paid 12.5');
assert.equal(ledger.get(cancelled), 'cancelled: stock');
assert.equal(ledger.has(old), false);
assert.equal(dead?.deadReason, 'undecodable');
console.log('What the schema does not know is refused at enqueue, and not published if it is there already.');
