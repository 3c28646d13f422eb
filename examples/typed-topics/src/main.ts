/** One schema gives a topic its type for the compiler and its check at run time, for old rows as well. */
import assert from 'node:assert/strict';
import {
  composeModules,
  OutboxDispatcher,
  OutboxModule,
  type OutboxRow,
  OutboxSchema,
  OutboxStore,
} from '@postcommit/core';
import { OutboxPgModule } from '@postcommit/store-pg';
import { openDatabase } from '@postcommit/tooling/database';
import pg from 'pg';
import { topics } from './topics.js';

const database = await openDatabase();
const pool = new pg.Pool({ connectionString: database.url });
const ledger: string[] = [];

/** `row.topic` tells the compiler which payload it is. */
async function publish(row: OutboxRow): Promise<void> {
  const isPaid = row.topic === 'order.paid';
  const line = isPaid ? `paid ${row.payload.cents / 100}` : `cancelled: ${row.payload.reason}`;
  console.log(`${row.payload.orderId} ${line}`);
  ledger.push(line);
}

const app = composeModules([
  OutboxModule.forRoot({ publisher: publish, topics }),
  OutboxPgModule.forRoot({ pool }),
]);
await app.get(OutboxSchema).ensure();
const store = app.get(OutboxStore);

await store.enqueue({ topic: 'order.paid', payload: { orderId: 'order-7', cents: 1250 } });
await store.enqueue({ topic: 'order.cancelled', payload: { orderId: 'order-8', reason: 'stock' } });
await assert.rejects(
  // @ts-expect-error: this does not compile. What gets past the compiler is refused before it is stored.
  store.enqueue({ topic: 'order.paid', payload: { orderId: 'order-7', cents: '12.50' } }),
  { code: 'SCHEMA_MISMATCH', message: /cents/ },
);
// Stored by last year's release, when amounts were in euros.
await pool.query(`
  insert into outbox (id, topic, payload) values ('old', 'order.paid', '{"orderId": "order-1", "euros": 12}')`);

await app.get(OutboxDispatcher).dispatchPending();
const [dead] = await store.peek({ state: 'dead' }, 10);
await pool.end();
await database.close();

console.log(`${dead?.id} is dead: ${dead?.deadReason}, ${dead?.lastError}`);
assert.deepEqual(ledger, ['paid 12.5', 'cancelled: stock']);
assert.equal(dead?.id, 'old');
assert.equal(dead.deadReason, 'undecodable');
console.log('What the schema does not know is refused at enqueue, and not published if it is there already.');
