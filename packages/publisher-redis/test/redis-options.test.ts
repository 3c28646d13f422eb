import { OutboxPublisher } from '@postcommit/core';
import { createCluster, createSentinel } from '@redis/client';
import { describe, expect, test } from 'vitest';
import { OutboxRedisModule, type RedisPublisherOptions, redisPublisher } from '../src/index.js';
import { addressOf } from '../src/redis-url.js';

const url = 'redis://127.0.0.1:6379';
const client = { isReady: true, sendCommand: () => {} };
const cluster = createCluster({ rootNodes: [] });
const sentinel = createSentinel({ name: 'main', sentinelRootNodes: [{ host: 'localhost', port: 1 }] });

describe('redisPublisher refuses', () => {
  test.each<[string, object]>([
    ['pass either url or client', {}],
    ['pass either url or client', { url, client }],
    ['password has no effect on a client', { client, password: 'hunter2' }],
    ['client must be a client of one server', { client: {} }],
    ['client must be a client of one server', { client: null }],
    ['url must be an address', { url: 'localhost' }],
    ['url must be an address', { url: 'http://localhost' }],
    ['url must be an address', { url: 'redis://app:hunter2@' }],
    ['url must be an address', { url: 'redis://localhost/orders' }],
    ['url must be an address', { url: 'redis://localhost?password=hunter2' }],
    ['url must be an address', { url: 'redis://:hunter2%@localhost' }],
    ['url must be an address', { url: 6379 }],
    ['the credentials are in url, and', { url: 'redis://:hunter2@localhost', password: 'other' }],
    ['the credentials are in url, and', { url: 'redis://app@localhost', username: 'other' }],
    ['tls has no effect on redis://', { url, tls: {} }],
    ["unknown option 'steam': did you mean 'stream'?", { url, steam: () => 'orders' }],
    ['stream must be a function', { url, stream: 'orders' }],
    ['name must be up to 100 ASCII characters', { url, name: 'the shop' }],
    ['streamMustExist must be true or false', { url, streamMustExist: 1 }],
    ['idempotent must be true or false', { url, idempotent: 'yes' }],
    ['maxLength must be', { url, maxLength: 0 }],
    ['timeoutMs must be', { url, timeoutMs: 0 }],
    ['connectTimeoutMs must be', { url, connectTimeoutMs: Number.NaN }],
    ["did you mean 'waitAof'?", { url, durability: { waitAOF: {} } }],
    ["did you mean 'replicas'?", { url, durability: { wait: { replica: 1 } } }],
    ['durability.wait.replicas must be', { url, durability: { wait: {} } }],
    ['durability.waitAof.replicas must be', { url, durability: { waitAof: { replicas: 0 } } }],
    ['durability.wait.timeoutMs must be', { url, durability: { wait: { replicas: 1, timeoutMs: 0 } } }],
    ['must be less than timeoutMs', { url, durability: { wait: { replicas: 1, timeoutMs: 5_000 } } }],
    ['must be less than timeoutMs', { url, timeoutMs: 900, durability: { waitAof: {} } }],
    ['encode must be a function', { url, encode: 'json' }],
    ['cloudEvents.source must be', { url, cloudEvents: {} }],
  ])('%s: %j', (message, options) => {
    const create = (): OutboxPublisher => redisPublisher(options as RedisPublisherOptions);
    expect(create).toThrow(
      expect.objectContaining({ code: 'INVALID_CONFIG', message: expect.stringContaining(message) }),
    );
    expect(() => OutboxRedisModule.forRoot(options as RedisPublisherOptions)).toThrow(message);
    expect(create).not.toThrow('hunter2');
  });

  test.each([
    ['a cluster', cluster],
    ['a sentinel', sentinel],
  ])('the client of %s', (_, other) => {
    expect(() => redisPublisher({ client: other as never })).toThrow('client must be a client of one server');
  });

  test('options that are no object', () => {
    expect(() => redisPublisher(undefined as never)).toThrow('options must be an object');
  });
});

test('OutboxRedisModule makes a publisher for each application', () => {
  const [provider] = OutboxRedisModule.forRoot({ url }).provides ?? [];
  expect(provider).toMatchObject({ provide: OutboxPublisher });
  const create = (provider as { useFactory: () => unknown }).useFactory;
  expect(create()).toBeInstanceOf(OutboxPublisher);
  expect(create()).not.toBe(create());
});

test('a URL says where, and who', () => {
  expect(addressOf('rediss://app:p%40ss@redis-1:6380/3')).toEqual({
    host: 'redis-1',
    port: 6380,
    isTls: true,
    database: 3,
    username: 'app',
    password: 'p@ss',
  });
  expect(addressOf('redis://[::1]')).toMatchObject({ host: '::1', port: 6379, isTls: false, database: 0 });
  expect(addressOf('redis://localhost/')).toMatchObject({ username: undefined, password: undefined });
});
