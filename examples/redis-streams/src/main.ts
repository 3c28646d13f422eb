/** Orders go to a stream of Redis; a consumer group handles each of them once, although one is delivered twice. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { createOutbox, ProcessedMessages } from '@postcommit/core';
import { redisPublisher } from '@postcommit/publisher-redis';
import { pgStore } from '@postcommit/store-pg';
import pg from 'pg';
import { PointsConsumer } from './points-consumer.js';

const { DATABASE_URL, REDIS_URL = 'redis://127.0.0.1:6379' } = process.env;
assert.ok(DATABASE_URL, 'Set DATABASE_URL, e.g. to postgres://postgres:postgres@localhost:5432/postgres');

const pool = new pg.Pool({ connectionString: DATABASE_URL });
// A stream of its own, so that runs do not see each other's entries.
const topic = `orders:${randomUUID()}:paid`;

const outbox = createOutbox({
  store: pgStore(pool),
  publisher: redisPublisher({ url: REDIS_URL, streamMustExist: true }),
});
await outbox.migrate();
await pool.query('create table if not exists points (customer text primary key, total int not null)');
const customers = [randomUUID(), randomUUID(), randomUUID()];
for (const customer of customers) await pool.query('insert into points values ($1, 0)', [customer]);
await outbox.enqueue(
  customers.map((customer) => ({ topic, key: customer, payload: { customer, points: 10 } })),
);

const consumer = new PointsConsumer(REDIS_URL, pool, outbox.app.get(ProcessedMessages), topic);
await consumer.connect(); // creates the stream with its group

await outbox.start(); // connects, and warns of settings of the server that lose messages
// The consumer loses its first acknowledgement, so there is one delivery more than there are entries.
const allDelivered = consumer.run(customers.length + 1);
const signal = await outbox.runUntilSignal({ until: allDelivered });

await consumer.deleteStream();
const { rows } = await pool.query('select total from points where customer = any ($1)', [customers]);
await pool.end();
if (signal) process.exit(); // interrupted: nothing to check

assert.deepEqual(rows, [{ total: 10 }, { total: 10 }, { total: 10 }]);
console.log('Four deliveries of three entries, and each customer has 10 points.');
