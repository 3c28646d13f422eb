import { randomUUID } from 'node:crypto';
import { BrokerUnavailable } from '@internal/test-brokers/broker-process';
import { findNats } from '@internal/test-brokers/nats';
import { findRabbitmq } from '@internal/test-brokers/rabbitmq';
import { createTestDatabase, type TestDatabase } from '@internal/test-database/test-database';
import { AckPolicy, jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect as connectNats, nanos, headers as natsHeaders } from '@nats-io/transport-node';
import { createOutbox } from '@postcommit/core';
import { webhookPublisher } from '@postcommit/publisher-webhook';
import { pgStore } from '@postcommit/store-pg';
import { type ConfirmChannel, connect as connectRabbitmq } from 'amqplib';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { OLD } from '../signed-webhooks.js';
import { CONSUMER, type ConsumerOrder, type StopPoint } from './consumer-order.js';
import { type ConsumerProcess, ConsumerProgram } from './consumer-process.js';

const rabbitmqUrl = await findRabbitmq();
const natsUrl = await findNats().catch((error: unknown) => {
  if (error instanceof BrokerUnavailable) return undefined;
  throw error;
});
const noRabbitmq = rabbitmqUrl === undefined ? ': no RabbitMQ to run on' : '';
const noNats = natsUrl === undefined ? ': no NATS to run on' : '';
const patience = { timeout: 120_000 };

let program: ConsumerProgram;
let database: TestDatabase;
let pool: pg.Pool;
const consumers: ConsumerProcess[] = [];

beforeAll(async () => {
  program = await ConsumerProgram.build();
  database = await createTestDatabase();
  pool = new pg.Pool({ connectionString: database.url });
  await createOutbox({ store: pgStore(pool), worker: false }).migrate();
  await pool.query('create table points (total int)');
});

beforeEach(async () => {
  await pool.query('truncate outbox_processed, points');
  await pool.query('insert into points values (0)');
});

afterEach(async () => {
  for (const consumer of consumers.splice(0)) await consumer.kill();
});

afterAll(async () => {
  await pool.end();
  await database.drop();
  await program.remove();
});

function start(order: Pick<ConsumerOrder, 'transport'> & Partial<ConsumerOrder>): ConsumerProcess {
  const unused = { url: '', source: '', secret: OLD, stopsAt: undefined };
  const consumer = program.start({ ...unused, databaseUrl: database.url, ...order });
  consumers.push(consumer);
  return consumer;
}

async function total(): Promise<number> {
  const { rows } = await pool.query('select total from points');
  return rows[0].total;
}

/** What is in the database when the first consumer stops, and what is left to the second one. */
const kills: ReadonlyArray<{ stopsAt: StopPoint; pointsThen: number; second: object }> = [
  { stopsAt: 'commit', pointsThen: 0, second: { hasRun: true, wasRedelivered: true } },
  { stopsAt: 'acknowledgement', pointsThen: 10, second: { hasRun: false, wasRedelivered: true } },
];

describe.skipIf(rabbitmqUrl === undefined)(`a consumer of RabbitMQ${noRabbitmq}`, () => {
  const url = rabbitmqUrl ?? '';
  const source = `inbox-${randomUUID()}`;

  async function onChannel<T>(work: (channel: ConfirmChannel) => Promise<T>): Promise<T> {
    const client = await connectRabbitmq(url);
    try {
      return await work(await client.createConfirmChannel());
    } finally {
      await client.close();
    }
  }

  beforeEach(() => onChannel((channel) => channel.assertQueue(source, { durable: true })));
  afterEach(() => onChannel((channel) => channel.deleteQueue(source)));

  it.each(kills)('that is killed before its $stopsAt has its effect once', patience, async (kill) => {
    await onChannel(async (channel) => {
      channel.sendToQueue(source, Buffer.from('{}'), { persistent: true, messageId: 'm-1' });
      await channel.waitForConfirms();
    });
    const first = start({ transport: 'rabbitmq', url, source, stopsAt: kill.stopsAt });
    await first.reaches(kill.stopsAt);
    expect(await total()).toBe(kill.pointsThen);
    await first.kill();

    const second = start({ transport: 'rabbitmq', url, source });
    expect(await second.reaches('acknowledged')).toMatchObject(kill.second);
    expect(await total()).toBe(10);
    const { messageCount } = await onChannel((channel) => channel.checkQueue(source));
    expect(messageCount, 'nothing is left to be delivered').toBe(0);
  });
});

describe.skipIf(natsUrl === undefined)(`a consumer of NATS JetStream${noNats}`, () => {
  const servers = natsUrl ?? '';
  const source = `INBOX-${randomUUID()}`;
  const subject = `inbox.${randomUUID()}`;

  async function connected<T>(
    work: (connection: Awaited<ReturnType<typeof connectNats>>) => Promise<T>,
  ): Promise<T> {
    const connection = await connectNats({ servers });
    try {
      return await work(connection);
    } finally {
      await connection.close();
    }
  }

  beforeEach(() =>
    connected(async (connection) => {
      const manager = await jetstreamManager(connection);
      await manager.streams.add({ name: source, subjects: [subject] });
      const settings = { durable_name: CONSUMER, ack_policy: AckPolicy.Explicit, ack_wait: nanos(1_000) };
      await manager.consumers.add(source, settings);
    }),
  );
  afterEach(() =>
    connected(async (connection) => (await jetstreamManager(connection)).streams.delete(source)),
  );

  it.each(kills)('that is killed before its $stopsAt has its effect once', patience, async (kill) => {
    await connected(async (connection) => {
      const headers = natsHeaders();
      headers.set('Nats-Msg-Id', 'm-1');
      await jetstream(connection).publish(subject, '{}', { headers });
    });
    const first = start({ transport: 'nats', url: servers, source, stopsAt: kill.stopsAt });
    await first.reaches(kill.stopsAt);
    expect(await total()).toBe(kill.pointsThen);
    await first.kill();

    const second = start({ transport: 'nats', url: servers, source });
    expect(await second.reaches('acknowledged')).toMatchObject(kill.second);
    expect(await total()).toBe(10);
    const left = await connected(async (connection) => {
      const manager = await jetstreamManager(connection);
      return manager.consumers.info(source, CONSUMER);
    });
    expect(left, 'nothing is left to be delivered').toMatchObject({ num_ack_pending: 0, num_pending: 0 });
  });
});

describe('a receiver of webhooks', () => {
  let port = 0;
  let outbox: ReturnType<typeof createSender>;

  const createSender = () =>
    createOutbox({
      store: pgStore(pool),
      publisher: webhookPublisher({
        url: () => `http://127.0.0.1:${port}/hooks`,
        secret: OLD,
        allowPrivateAddresses: ['127.0.0.1'],
      }),
      backoff: { type: 'fixed', delayMs: 50 },
    });

  beforeEach(async () => {
    await pool.query('truncate outbox');
    outbox = createSender();
  });

  afterEach(() => outbox.stop());

  it.each([
    { stopsAt: 'commit', pointsThen: 0, second: { hasRun: true } },
    { stopsAt: 'acknowledgement', pointsThen: 10, second: { hasRun: false } },
  ] as const)('that is killed before its $stopsAt has its effect once', patience, async (kill) => {
    const first = start({ transport: 'webhook', stopsAt: kill.stopsAt });
    const second = start({ transport: 'webhook' });
    const { port: portOfSecond } = await second.reaches('listening');
    ({ port } = await first.reaches('listening'));
    await outbox.enqueue({ topic: 'order.paid', payload: {} });
    await outbox.start();
    await first.reaches(kill.stopsAt);
    expect(await total()).toBe(kill.pointsThen);
    port = portOfSecond;
    await first.kill();

    expect(await second.reaches('acknowledged')).toMatchObject(kill.second);
    expect(await total()).toBe(10);
    await expect.poll(async () => (await outbox.store.count()).dispatched, { timeout: 30_000 }).toBe(1);
  });
});
