/** Orders become jobs of a BullMQ queue; a worker handles each of them once, although one of them runs twice. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { createOutbox, ProcessedMessages } from '@postcommit/core';
import { bullmqPublisher } from '@postcommit/publisher-bullmq';
import { pgStore } from '@postcommit/store-pg';
import { Queue } from 'bullmq';
import pg from 'pg';
import { PointsWorker } from './points-worker.js';

const { DATABASE_URL, REDIS_URL = 'redis://127.0.0.1:6379' } = process.env;
assert.ok(DATABASE_URL, 'Set DATABASE_URL, e.g. to postgres://postgres:postgres@localhost:5432/postgres');

const pool = new pg.Pool({ connectionString: DATABASE_URL });
const connection = { url: REDIS_URL };
// A queue of its own, so that runs do not see each other's jobs.
const name = `orders-${randomUUID()}`;

const outbox = createOutbox({
  store: pgStore(pool),
  publisher: bullmqPublisher({
    connection,
    name,
    jobOptions: { attempts: 100, backoff: { type: 'fixed', delay: 200 } },
  }),
});
await outbox.migrate();
await pool.query('create table if not exists points (customer text primary key, total int not null)');
const customers = [randomUUID(), randomUUID(), randomUUID()];
for (const customer of customers) await pool.query('insert into points values ($1, 0)', [customer]);
await outbox.enqueue(
  customers.map((customer) => ({
    topic: 'order.paid',
    key: customer,
    payload: { customer, points: 10 },
  })),
);

await outbox.start(); // connects, and warns of settings of the server that lose jobs
const worker = new PointsWorker(name, connection, pool, outbox.app.get(ProcessedMessages));
const allCompleted = worker.completed(customers.length);
const signal = await outbox.runUntilSignal({ until: allCompleted });

await worker.close();
const queue = new Queue(name, { connection });
await queue.obliterate({ force: true }); // this example cleans up; a real one leaves the queue alone
await queue.close();
const { rows } = await pool.query('select total from points where customer = any ($1)', [customers]);
await pool.end();
if (signal) process.exit(); // interrupted: nothing to check

assert.deepEqual(rows, [{ total: 10 }, { total: 10 }, { total: 10 }]);
console.log('Three jobs ran four times, and each customer has 10 points.');
