import { randomUUID } from 'node:crypto';
import type { TestBroker } from '@internal/test-brokers/broker-process';
import { connectRedis, type RedisClient, startRedis } from '@internal/test-brokers/redis';
import type { MessageFormat, OutboxPublisher, OutboxRow } from '@postcommit/core';
import {
  type Link,
  openLink,
  type PublisherFixture,
  type PublisherHarness,
  type ReceivedMessage,
} from '@postcommit/publisher-testkit';
import { createClient, RESP_TYPES } from '@redis/client';
import { type RedisPublisherOptions, redisPublisher } from '../src/index.js';

export const PASSWORD = 'streams-pass-4711';

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

/** All messages of a stream, in its order. */
export async function messagesIn(client: RedisClient, stream: string): Promise<ReceivedMessage[]> {
  const binary = client.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer });
  const entries = await binary.sendCommand<[Buffer, Buffer[]][]>(['XRANGE', stream, '-', '+']);
  return entries.map(([, fields]) => received(stream, fields));
}

function received(destination: string, fields: readonly Buffer[]): ReceivedMessage {
  const values = new Map<string, Buffer>();
  for (let index = 0; index + 1 < fields.length; index += 2)
    values.set(String(fields[index]), fields[index + 1] ?? Buffer.of());
  const text = (name: string): string | undefined => values.get(name)?.toString();
  const headers = JSON.parse(text('headers') ?? '{}') as Record<string, string>;
  return {
    id: headers['outbox-id'] ?? '',
    nativeId: text('id'),
    destination,
    key: text('key'),
    body: values.get('payload') ?? Buffer.of(),
    contentType: text('contentType'),
    headers,
  };
}

export function urlOf({ host, port }: { readonly host: string; readonly port: number }): string {
  return `redis://${host}:${port}`;
}

export function redisHarness(): PublisherHarness {
  return {
    traits: { dedupes: false, ordersByKey: true, keepsHeaderCase: true },
    open: openFixture,
  };
}

async function openFixture(): Promise<PublisherFixture> {
  const server = await redisServer();
  const [observer, link] = await Promise.all([observe(server), openLink(server)]);
  const prefix = randomUUID();
  const topic = `${prefix}:orders`;
  const refusingTopic = `${prefix}:text`;
  await observer.xGroupCreate(topic, 'group', '$', { MKSTREAM: true });
  await observer.set(refusingTopic, 'not a stream');
  const options = { streamMustExist: true, timeoutMs: 1_000, connectTimeoutMs: 1_000 };
  const own = { ...options, url: urlOf(link), password: PASSWORD };
  return {
    topic,
    link,
    createPublisher: (format: MessageFormat = {}) => redisPublisher({ ...own, ...format }),
    received: () => messagesIn(observer, topic),
    unroutableTopic: `${prefix}:nowhere`,
    refusingTopic,
    impossibleRows,
    secrets: [PASSWORD],
    withWrongCredentials: () => redisPublisher({ ...own, password: `not-${PASSWORD}` }),
    withBorrowedClient: () => borrow(link, { streamMustExist: true }),
    untruthful: () => untruthful(own),
    restartBroker: async () => {
      await server.kill();
      await server.start();
    },
    close: async () => {
      await link.close();
      await observer.del([topic, refusingTopic]);
      observer.destroy();
    },
  };
}

function impossibleRows(row: OutboxRow): Record<string, OutboxRow> {
  return {
    'no name of a stream': { ...row, topic: '' },
    'half a character in the name': { ...row, topic: 'orders\ud83d' },
    'half a character in the key': { ...row, key: 'account\ude00' },
  };
}

export async function borrow(
  { host, port }: Pick<Link, 'host' | 'port'>,
  options: Partial<RedisPublisherOptions> = {},
): Promise<{ publisher: OutboxPublisher; isOpen(): boolean; close(): Promise<void> }> {
  const client = createClient({ socket: { host, port }, password: PASSWORD });
  client.on('error', () => {});
  await client.connect();
  return {
    publisher: redisPublisher({ ...options, client } as RedisPublisherOptions),
    isOpen: () => client.isReady,
    close: async () => client.destroy(),
  };
}

/** A server for each setting that weakens a confirmation. */
async function untruthful(
  options: Extract<RedisPublisherOptions, { url: string }>,
): Promise<Record<string, OutboxPublisher>> {
  const settings = {
    'nothing on the disk': { appendonly: 'no' },
    'the disk once a second': { appendfsync: 'everysec' },
    'deletes streams': { 'maxmemory-policy': 'allkeys-lru' },
  };
  const publishers: Record<string, OutboxPublisher> = {
    'trims streams': redisPublisher({ ...options, maxLength: 1_000 }),
    'a wait that the server does not have': redisPublisher({
      ...options,
      durability: { waitAof: { timeoutMs: 500 } },
    }),
  };
  for (const [what, config] of Object.entries(settings))
    publishers[what] = redisPublisher({ ...options, url: urlOf(await redisServer(config)) });
  return publishers;
}
