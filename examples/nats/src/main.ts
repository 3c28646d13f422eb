/** Orders go to a stream of NATS JetStream; a consumer handles each of them once, although one is delivered twice. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { connect } from '@nats-io/transport-node';
import { createOutbox, ProcessedMessages } from '@postcommit/core';
import { natsPublisher } from '@postcommit/publisher-nats';
import { pgStore } from '@postcommit/store-pg';
import pg from 'pg';
import { PointsConsumer } from './points-consumer.js';

const { DATABASE_URL, NATS_URL = 'nats://127.0.0.1:4222' } = process.env;
assert.ok(DATABASE_URL, 'Set DATABASE_URL, e.g. to postgres://postgres:postgres@localhost:5432/postgres');

const pool = new pg.Pool({ connectionString: DATABASE_URL });
// A stream of its own, so that runs do not see each other's messages.
const run = randomUUID();
const stream = `ORDERS-${run}`;
const topic = `orders.${run}.paid`;

const outbox = createOutbox({
  store: pgStore(pool),
  publisher: natsPublisher({ servers: NATS_URL, stream, subjects: [topic], declare: true }),
});
await outbox.migrate();
await pool.query('create table if not exists points (customer text primary key, total int not null)');
const customers = [randomUUID(), randomUUID(), randomUUID()];
for (const customer of customers) await pool.query('insert into points values ($1, 0)', [customer]);
await outbox.enqueue(
  customers.map((customer) => ({ topic, key: customer, payload: { customer, points: 10 } })),
);

const connection = await connect({ servers: NATS_URL });
await outbox.start(); // connects, creates the stream and checks it
const consumer = new PointsConsumer(connection, pool, outbox.app.get(ProcessedMessages));
// The consumer loses its first acknowledgement, so there is one delivery more than there are messages.
const allDelivered = consumer.run(stream, customers.length + 1);
const signal = await outbox.runUntilSignal({ until: allDelivered });

await consumer.deleteStream(stream);
await connection.close();
const { rows } = await pool.query('select total from points where customer = any ($1)', [customers]);
await pool.end();
if (signal) process.exit(); // interrupted: nothing to check

assert.deepEqual(rows, [{ total: 10 }, { total: 10 }, { total: 10 }]);
console.log('Four deliveries of three messages, and each customer has 10 points.');
