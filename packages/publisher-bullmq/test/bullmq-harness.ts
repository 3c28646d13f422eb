import { randomUUID } from 'node:crypto';
import type { TestBroker } from '@internal/test-brokers/broker-process';
import { connectRedis, type RedisClient, startRedis } from '@internal/test-brokers/redis';
import type { OutboxPublisher, OutboxRow } from '@postcommit/core';
import {
  openLink,
  type PublisherFixture,
  type PublisherHarness,
  type ReceivedMessage,
} from '@postcommit/publisher-testkit';
import { Queue } from 'bullmq';
import { bullmqPublisher, type RowJobData, rowIdOf } from '../src/index.js';

const REFUSED = 'order.refused';
export const PASSWORD = 'queue-pass-4711';

const servers = new Map<string, Promise<TestBroker>>();

/** One server for all tests of a file, or one for each set of settings. */
export function redisServer(config: Readonly<Record<string, string>> = {}): Promise<TestBroker> {
  const key = JSON.stringify(config);
  const server = servers.get(key) ?? startRedis({ password: PASSWORD, config });
  servers.set(key, server);
  return server;
}

export async function closeRedisServers(): Promise<void> {
  const running = [...servers.values()];
  servers.clear();
  await Promise.all(running.map(async (server) => (await server).close()));
}

export async function observe(server: TestBroker): Promise<RedisClient> {
  return connectRedis(server, { password: PASSWORD });
}

/** A job as it is in Redis. */
export interface StoredJob {
  readonly id: string;
  readonly name: string;
  readonly data: unknown;
  readonly options: Record<string, unknown>;
}

/** All jobs that wait, in the order in which a worker gets them. */
export async function jobsIn(client: RedisClient, queue: string): Promise<StoredJob[]> {
  const ids = (await client.lRange(`bull:${queue}:wait`, 0, -1)).reverse();
  return Promise.all(
    ids.map(async (id) => {
      const { name = '', data = '', opts = '{}' } = await client.hGetAll(`bull:${queue}:${id}`);
      return { id, name, data: JSON.parse(data), options: JSON.parse(opts) };
    }),
  );
}

export function bullmqHarness(): PublisherHarness {
  const reason = 'the data of a job is JSON; the publisher has no such option';
  return {
    traits: { dedupes: true, ordersByKey: true, keepsHeaderCase: true },
    open: openFixture,
    skip: [
      { name: 'encode decides body, content type and headers', reason },
      {
        name: 'a row that cannot be encoded is refused for good and does not fail its neighbours',
        reason,
      },
      { name: 'cloudEvents sends the attributes of CloudEvents 1.0', reason },
    ],
  };
}

async function openFixture(): Promise<PublisherFixture> {
  const server = await redisServer();
  const [observer, link] = await Promise.all([observe(server), openLink(server)]);
  const name = `orders-${randomUUID()}`;
  const { host, port } = link;
  const options = {
    name,
    data: 'row',
    timeoutMs: 1_000,
    connectTimeoutMs: 1_000,
    // BullMQ refuses a priority that is not an integer.
    jobOptions: ({ topic }: OutboxRow) => (topic === REFUSED ? { priority: 1.5 } : {}),
  } as const;
  const createPublisher = (password = PASSWORD): OutboxPublisher =>
    bullmqPublisher({ ...options, connection: { host, port, password } });
  return {
    topic: 'order.paid',
    link,
    createPublisher: () => createPublisher(),
    received: async () => (await jobsIn(observer, name)).map(received),
    refusingTopic: REFUSED,
    impossibleRows,
    secrets: [PASSWORD],
    withWrongCredentials: () => createPublisher(`not-${PASSWORD}`),
    withBorrowedClient: async () => {
      const queue = new Queue(name, { connection: { host, port, password: PASSWORD } });
      queue.on('error', () => {});
      return {
        publisher: bullmqPublisher({ queue, data: 'row', timeoutMs: 1_000 }),
        isOpen: () => queue.closing === undefined,
        close: () => queue.close(),
      };
    },
    untruthful,
    restartBroker: async () => {
      await server.kill();
      await server.start();
    },
    close: async () => {
      await link.close();
      const keys = await observer.keys(`bull:${name}:*`);
      if (keys.length > 0) await observer.del(keys);
      observer.destroy();
    },
  };
}

function received({ id, name, data }: StoredJob): ReceivedMessage {
  const { key, payload, headers } = data as RowJobData;
  return {
    id: headers['outbox-id'] ?? '',
    nativeId: rowIdOf(id),
    destination: name,
    key,
    body: Buffer.from(JSON.stringify(payload)),
    contentType: 'application/json',
    headers,
  };
}

function impossibleRows(row: OutboxRow): Record<string, OutboxRow> {
  return {
    'no name of a job': { ...row, topic: '' },
    'half a character in the name': { ...row, topic: 'orders\ud83d' },
  };
}

/** A server for each setting that weakens a confirmation. */
async function untruthful(): Promise<Record<string, OutboxPublisher>> {
  const settings = {
    'nothing on the disk': { appendonly: 'no' },
    'deletes jobs': { 'maxmemory-policy': 'allkeys-lru' },
  };
  const publishers: Record<string, OutboxPublisher> = {};
  for (const [what, config] of Object.entries(settings)) {
    const { host, port } = await redisServer(config);
    publishers[what] = bullmqPublisher({ connection: { host, port, password: PASSWORD }, name: 'orders' });
  }
  return publishers;
}
