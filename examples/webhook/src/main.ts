/** Rows as signed HTTP requests: Retry-After is waited for, and a refused signature is not tried again. */
import assert from 'node:assert/strict';
import {
  composeModules,
  OutboxModule,
  OutboxSchema,
  OutboxSignals,
  OutboxStore,
  routePublisher,
} from '@postcommit/core';
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
    publisher: routePublisher({
      'order.*': new WebhookPublisher(receiver.url, 's3cret'),
      'invoice.*': new WebhookPublisher(receiver.url, 'a secret that was replaced'),
    }),
    maxAttempts: 5,
  }),
  OutboxPgModule.forRoot({ pool }),
]);
await app.get(OutboxSchema).ensure();
const store = app.get(OutboxStore);
const [paid] = await store.enqueue({ topic: 'order.paid', payload: { id: 'order-7' } });
await store.enqueue({ topic: 'invoice.sent', payload: { id: 'invoice-7' } });

const waits: number[] = [];
const delivered = new Promise<void>((resolve) => {
  const signals = app.get(OutboxSignals);
  signals.on('failed', ({ row, error, delayMs }) => {
    console.log(`${row.topic} failed (${error}), again in ${delayMs} ms`);
    waits.push(delayMs);
  });
  signals.on('dead', ({ row, error, reason }) => console.log(`${row.topic} is dead: ${reason} (${error})`));
  signals.on('batch', ({ dispatched }) => dispatched > 0 && resolve());
});
await app.start();
await delivered;
await app.stop();

const [dead] = await store.peek({ state: 'dead' }, 10);
await receiver.close();
await pool.end();
await database.close();

assert.deepEqual(receiver.answers.toSorted(), ['invoice.sent 401', 'order.paid 204', 'order.paid 503']);
assert.deepEqual([...receiver.accepted], [[paid, { id: 'order-7' }]]);
assert.deepEqual(waits, [1_000]);
assert.equal(dead?.topic, 'invoice.sent');
assert.equal(dead.deadReason, 'permanent');
assert.equal(dead.attempts, 1);
console.log(
  'The busy receiver got the message when it had asked for it; the wrong signature was tried once.',
);
