/** Orders go to a topic of Kafka; a consumer handles each of them once, although one is delivered twice. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { createOutbox, ProcessedMessages } from '@postcommit/core';
import { kafkaPublisher } from '@postcommit/publisher-kafka';
import { pgStore } from '@postcommit/store-pg';
import pg from 'pg';
import { PointsConsumer } from './points-consumer.js';

const { DATABASE_URL, KAFKA_BROKERS = 'localhost:9092' } = process.env;
assert.ok(DATABASE_URL, 'Set DATABASE_URL, e.g. to postgres://postgres:postgres@localhost:5432/postgres');

const pool = new pg.Pool({ connectionString: DATABASE_URL });
const brokers = KAFKA_BROKERS.split(',');
// A topic of its own, so that runs do not see each other's messages.
const topic = `orders-${randomUUID()}`;

const outbox = createOutbox({
  store: pgStore(pool),
  publisher: kafkaPublisher({ brokers, topic: () => topic, topics: [topic], declare: { partitions: 3 } }),
});
await outbox.migrate();
await pool.query('create table if not exists points (customer text primary key, total int not null)');
const customers = [randomUUID(), randomUUID(), randomUUID()];
for (const customer of customers) await pool.query('insert into points values ($1, 0)', [customer]);
await outbox.enqueue(
  customers.map((customer) => ({ topic: 'order.paid', key: customer, payload: { customer, points: 10 } })),
);

await outbox.start(); // connects, creates the topic and checks it
const consumer = new PointsConsumer({ brokers, topic, pool, processed: outbox.app.get(ProcessedMessages) });
// The consumer stops once before it commits an offset, so there is one delivery more than there are messages.
const allDelivered = consumer.run(customers.length + 1);
const signal = await outbox.runUntilSignal({ until: allDelivered });

await consumer.close();
const { rows } = await pool.query('select total from points where customer = any ($1)', [customers]);
await pool.end();
if (signal) process.exit(); // interrupted: nothing to check

assert.deepEqual(rows, [{ total: 10 }, { total: 10 }, { total: 10 }]);
console.log('Four deliveries of three messages, and each customer has 10 points.');
