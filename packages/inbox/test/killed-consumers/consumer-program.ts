/** A consumer that credits points once for each message, and can be stopped where it hurts. Started by tests. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { jetstream } from '@nats-io/jetstream';
import { connect as connectNats } from '@nats-io/transport-node';
import { createOutbox, ProcessedMessages } from '@postcommit/core';
import { inTransaction, pgStore } from '@postcommit/store-pg';
import { type ConsumeMessage, connect as connectRabbitmq } from 'amqplib';
import pg from 'pg';
import { handleOnce, messageIdOf, webhookReceiver } from '../../src/index.js';
import { CONSUMER, type ConsumerOrder, type ConsumerReport, type StopPoint } from './consumer-order.js';

const order = JSON.parse(process.env.CONSUMER_ORDER ?? '{}') as ConsumerOrder;
const pool = new pg.Pool({ connectionString: order.databaseUrl });
const processed: ProcessedMessages<pg.PoolClient> = createOutbox({
  store: pgStore(pool),
  worker: false,
}).app.get(ProcessedMessages);

function report(what: ConsumerReport): void {
  process.send?.(what);
}

/** Tells the test, which kills this process. */
async function reach(point: StopPoint): Promise<void> {
  if (order.stopsAt !== point) return;
  report({ at: point });
  await new Promise(() => {});
}

async function credit(id: string): Promise<boolean> {
  const hasRun = await inTransaction(pool, async (tx) => {
    const isFirst = await handleOnce(processed, tx, { consumer: CONSUMER, id }, async () => {
      await tx.query('update points set total = total + 10');
    });
    await reach('commit');
    return isFirst;
  });
  await reach('acknowledgement');
  return hasRun;
}

async function consumeRabbitmq(): Promise<void> {
  const client = await connectRabbitmq(order.url);
  const channel = await client.createChannel();
  const settle = async (message: ConsumeMessage): Promise<void> => {
    const hasRun = await credit(messageIdOf(message));
    channel.ack(message);
    await channel.close(); // after the acknowledgement: to close the connection at once may overtake it
    await client.close();
    report({ at: 'acknowledged', hasRun, wasRedelivered: message.fields.redelivered });
  };
  await channel.consume(order.source, (message) => void (message && settle(message)));
}

async function consumeNats(): Promise<void> {
  const connection = await connectNats({ servers: order.url });
  const consumer = await jetstream(connection).consumers.get(order.source, CONSUMER);
  const message = await consumer.next({ expires: 60_000 });
  if (message === null) throw new Error('no message came');
  const hasRun = await credit(messageIdOf(message));
  await message.ackAck();
  report({ at: 'acknowledged', hasRun, wasRedelivered: message.info.deliveryCount > 1 });
}

async function receiveWebhooks(): Promise<void> {
  const receive = webhookReceiver({ secret: order.secret });
  const server = createServer(async (request, response) => {
    const answer = await receive(request, ({ id }) => credit(id));
    response.writeHead(answer.status, answer.headers).end(answer.body);
    await once(response, 'close');
    // A request does not say whether it is the first.
    report({ at: 'acknowledged', hasRun: answer.status === 204, wasRedelivered: answer.status === 200 });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  report({ at: 'listening', port: (server.address() as AddressInfo).port });
}

// The test has died: nobody waits any more.
process.on('disconnect', () => process.exit());
const consume = { rabbitmq: consumeRabbitmq, nats: consumeNats, webhook: receiveWebhooks };
await consume[order.transport]();
