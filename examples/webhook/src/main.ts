/** Rows as signed HTTP requests: a redirect is not a delivery, Retry-After is waited for, and a 422 is final. */
import assert from 'node:assert/strict';
import { composeModules, DispatchEvents, OutboxModule, OutboxSchema, OutboxStore } from '@postcommit/core';
import { OutboxPgModule } from '@postcommit/store-pg';
import { openDatabase } from '@postcommit/tooling/database';
import pg from 'pg';
import { startReceiver } from './receiver.js';
import { WebhookPublisher } from './webhook-publisher.js';

const database = await openDatabase();
const pool = new pg.Pool({ connectionString: database.url });
const receiver = await startReceiver('s3cret');

const app = composeModules([
  OutboxModule.forRoot({
    publisher: new WebhookPublisher(receiver.url, 's3cret'),
    maxAttempts: 5,
    backoff: { type: 'fixed', delayMs: 200 },
  }),
  OutboxPgModule.forRoot({ pool }),
]);
await app.get(OutboxSchema).ensure();
const store = app.get(OutboxStore);
const [paid] = await store.enqueue({ topic: 'order.paid', payload: { amount: 7 } });
await store.enqueue({ topic: 'order.refunded', payload: { amount: -7 } });

const waits: number[] = [];
const delivered = new Promise<void>((resolve) => {
  const events = app.get(DispatchEvents);
  events.on('failed', ({ row, error, delayMs }) => {
    console.log(`${row.topic} failed (${error}), again in ${delayMs} ms`);
    waits.push(delayMs);
  });
  events.on('dead', ({ row, error, reason }) => console.log(`${row.topic} is dead: ${reason} (${error})`));
  events.on('batch', ({ dispatched }) => dispatched > 0 && resolve());
});
await app.start();
await delivered;
await app.stop();

const [dead] = await store.peek({ state: 'dead' }, 10);
await receiver.close();
await pool.end();
await database.close();

assert.deepEqual(receiver.answers.toSorted(), [
  'order.paid 204',
  'order.paid 302',
  'order.paid 503',
  'order.refunded 422',
]);
assert.deepEqual([...receiver.accepted], [[paid, { amount: 7 }]]);
assert.deepEqual(waits, [200, 1_000]);
assert.equal(dead?.topic, 'order.refunded');
assert.equal(dead.deadReason, 'permanent');
assert.equal(dead.attempts, 1);
console.log(
  'The message arrived when the receiver could take it; the login page took none; what it can never take was tried once.',
);
