/** Rows as signed webhooks, and a receiver that has a bad day: what arrives twice has its effect once. */
import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { createOutbox, ProcessedMessages } from '@postcommit/core';
import { webhookPublisher } from '@postcommit/publisher-webhook';
import { pgStore } from '@postcommit/store-pg';
import pg from 'pg';
import { Receiver } from './receiver.js';

const { DATABASE_URL } = process.env;
assert.ok(DATABASE_URL, 'Set DATABASE_URL, e.g. to postgres://postgres:postgres@localhost:5432/postgres');

const newSecret = (): string => `whsec_${randomBytes(32).toString('base64')}`;
// Secrets are being rotated: the receiver still has the old one.
const secrets = { old: newSecret(), new: newSecret() };

const pool = new pg.Pool({ connectionString: DATABASE_URL });
const dead = new EventEmitter();

let url = '';
const outbox = createOutbox({
  store: pgStore(pool),
  publisher: webhookPublisher({
    url: () => `${url}/hooks`,
    secret: [secrets.new, secrets.old],
    // The address is not a constant, so private ones are refused unless they are listed.
    allowPrivateAddresses: ['127.0.0.1'],
  }),
  maxAttempts: 5,
  backoff: { type: 'fixed', delayMs: 200 },
  onDead: ({ row }) => dead.emit(row.id),
});
await outbox.migrate();
await pool.query('create table if not exists balances (account text primary key, total int not null)');
const account = randomUUID();
await pool.query('insert into balances values ($1, 0)', [account]);

const receiver = new Receiver({ pool, processed: outbox.app.get(ProcessedMessages), secret: secrets.old });
url = await receiver.start();

const [paid = '', refunded = ''] = await outbox.enqueue([
  { topic: 'order.paid', payload: { account, amount: 7 } },
  { topic: 'order.refunded', payload: { account, amount: -7 } },
]);
const settled = Promise.all([receiver.confirms(paid), once(dead, refunded)]);
await outbox.start();
const signal = await outbox.runUntilSignal({ until: settled });

const [refused] = await outbox.store.peek({ id: refunded }, 1);
const { rows } = await pool.query('select total from balances where account = $1', [account]);
await receiver.close();
await pool.end();
if (signal) process.exit(); // interrupted: nothing to check

// If the database restarts meanwhile, requests are repeated.
assert.match(receiver.answers.get(paid)?.join(' ') ?? '', /^302( 503)+ lost( 503)* 200/);
assert.deepEqual([...new Set(receiver.answers.get(refunded))], ['422']);
assert.deepEqual(rows, [{ total: 7 }]);
assert.equal(refused?.deadReason, 'permanent');
assert.equal(refused.attempts, 1);
console.log(
  'The payment arrived when the receiver could take it, and was credited once; what it can never take was tried once.',
);
