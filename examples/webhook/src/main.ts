/** Rows as signed HTTP requests: a redirect is not a delivery, Retry-After is waited for, and a 422 is final. */
import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { createOutbox } from '@postcommit/core';
import { pgStore } from '@postcommit/store-pg';
import pg from 'pg';
import { startReceiver } from './receiver.js';
import { WebhookPublisher } from './webhook-publisher.js';

const { DATABASE_URL } = process.env;
assert.ok(DATABASE_URL, 'Set DATABASE_URL, e.g. to postgres://postgres:postgres@localhost:5432/postgres');

const pool = new pg.Pool({ connectionString: DATABASE_URL });
const receiver = await startReceiver('s3cret');
const waits: number[] = [];
const dead = new EventEmitter();

const outbox = createOutbox({
  store: pgStore(pool),
  publisher: new WebhookPublisher(receiver.url, 's3cret'),
  maxAttempts: 5,
  backoff: { type: 'fixed', delayMs: 200 },
  onDead: ({ row }) => dead.emit(row.id),
});
await outbox.migrate();
const [paid = '', refunded = ''] = await outbox.enqueue([
  { topic: 'order.paid', payload: { amount: 7 } },
  { topic: 'order.refunded', payload: { amount: -7 } },
]);

outbox.on('failed', ({ row, delayMs }) => row.id === paid && waits.push(delayMs));
const settled = Promise.all([receiver.accepts(paid), once(dead, refunded)]);
await outbox.start();
const signal = await outbox.runUntilSignal({ until: settled });

const [refused] = await outbox.store.peek({ id: refunded }, 1);
await receiver.close();
await pool.end();
if (signal) process.exit(); // interrupted: nothing to check

assert.deepEqual(receiver.answersTo(paid), [302, 503, 204]);
assert.deepEqual(receiver.answersTo(refunded), [422]);
assert.deepEqual(receiver.accepted.get(paid), { amount: 7 });
// The redirect counted no attempt: it may have been an outage. The 503 did, since the receiver had answered another row.
assert.deepEqual(waits, [1_000]);
assert.equal(refused?.deadReason, 'permanent');
assert.equal(refused.attempts, 1);
console.log(
  'The message arrived when the receiver could take it; the login page took none; what it can never take was tried once.',
);
