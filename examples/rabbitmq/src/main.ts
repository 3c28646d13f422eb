/** Orders go to an exchange of RabbitMQ; a consumer handles each of them once, although one is delivered twice. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { createOutbox, ProcessedMessages } from '@postcommit/core';
import { rabbitmqPublisher } from '@postcommit/publisher-rabbitmq';
import { pgStore } from '@postcommit/store-pg';
import { connect } from 'amqplib';
import pg from 'pg';
import { PointsConsumer } from './points-consumer.js';

const { DATABASE_URL, RABBITMQ_URL = 'amqp://guest:guest@127.0.0.1:5672' } = process.env;
assert.ok(DATABASE_URL, 'Set DATABASE_URL, e.g. to postgres://postgres:postgres@localhost:5432/postgres');

const pool = new pg.Pool({ connectionString: DATABASE_URL });
// An exchange and a queue of its own, so that runs do not see each other's messages.
const exchange = `orders-${randomUUID()}`;
const queue = `points-of-${exchange}`;

const outbox = createOutbox({
  store: pgStore(pool),
  publisher: rabbitmqPublisher({
    url: RABBITMQ_URL,
    exchange,
    declare: { queues: { [queue]: ['order.*'] } },
  }),
});
await outbox.migrate();
await pool.query('create table if not exists points (customer text primary key, total int not null)');
const customers = [randomUUID(), randomUUID(), randomUUID()];
for (const customer of customers) await pool.query('insert into points values ($1, 0)', [customer]);
await outbox.enqueue(
  customers.map((customer) => ({ topic: 'order.paid', key: customer, payload: { customer, points: 10 } })),
);

const client = await connect(RABBITMQ_URL);
await outbox.start(); // connects, and creates exchange and queue
const consumer = new PointsConsumer(client, pool, outbox.app.get(ProcessedMessages));
// The consumer loses its first acknowledgement, so there is one delivery more than there are messages.
const allDelivered = consumer.run(queue, customers.length + 1);
const signal = await outbox.runUntilSignal({ until: allDelivered });

// This example cleans up; a real application leaves exchange and queue alone.
const channel = await client.createChannel();
await channel.deleteQueue(queue);
await channel.deleteExchange(exchange);
await client.close();
const { rows } = await pool.query('select total from points where customer = any ($1)', [customers]);
await pool.end();
if (signal) process.exit(); // interrupted: nothing to check

assert.deepEqual(rows, [{ total: 10 }, { total: 10 }, { total: 10 }]);
console.log('Four deliveries of three messages, and each customer has 10 points.');
