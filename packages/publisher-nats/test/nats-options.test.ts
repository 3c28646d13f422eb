import { OutboxPublisher } from '@postcommit/core';
import { describe, expect, test } from 'vitest';
import { type NatsPublisherOptions, natsPublisher, OutboxNatsModule } from '../src/index.js';
import { covers } from '../src/subject-patterns.js';

const servers = 'nats://127.0.0.1:4222';
const connection = { request: () => {} };

describe('natsPublisher refuses', () => {
  test.each<[string, object]>([
    ['pass either servers or connection', {}],
    ['pass either servers or connection', { servers, connection }],
    ['user has no effect on a connection', { connection, user: 'app' }],
    ['connection must be a NatsConnection', { connection: {} }],
    ['servers is empty', { servers: [] }],
    ['servers must be texts', { servers: [4222] }],
    ['a server is not an address', { servers: 'nats://a b' }],
    ['servers must not hold credentials', { servers: ['nats://app:hunter2@nats-1:4222'] }],
    ['servers must not hold credentials', { servers: 'hunter2@nats-1:4222' }],
    ["unknown option 'steam': did you mean 'stream'?", { servers, steam: 'ORDERS' }],
    ['stream must be the name of a stream', { servers, stream: 'orders.eu' }],
    ['stream must be the name of a stream', { servers, stream: '' }],
    ['stream must be the name of a stream', { servers, stream: null }],
    ['domain must be the name', { servers, domain: 'a.b' }],
    ['declare must be true or settings', { servers, stream: 'A', subjects: ['a'], declare: 'yes' }],
    ['subject must be a function', { servers, subject: 'orders' }],
    ['subjects must be a list', { servers, subjects: 'orders.>' }],
    ['subjects must be a list', { servers, subjects: [] }],
    ['subjects must be a list', { servers, subjects: ['a b'] }],
    ['declare needs stream and subjects', { servers, declare: true }],
    ['declare needs stream and subjects', { servers, stream: 'ORDERS', declare: {} }],
    [
      "did you mean 'replicas'?",
      { servers, stream: 'ORDERS', subjects: ['orders.>'], declare: { replica: 3 } },
    ],
    ['replicas must be', { servers, stream: 'ORDERS', subjects: ['a'], declare: { replicas: 0 } }],
    [
      'duplicateWindowMs must be',
      { servers, stream: 'ORDERS', subjects: ['a'], declare: { duplicateWindowMs: -1 } },
    ],
    ['timeoutMs must be', { servers, timeoutMs: 0 }],
    ['connectTimeoutMs must be', { servers, connectTimeoutMs: Number.NaN }],
    ['encode must be a function', { servers, encode: 'json' }],
    ['cloudEvents.source must be', { servers, cloudEvents: {} }],
  ])('%s: %j', (message, options) => {
    const create = (): OutboxPublisher => natsPublisher(options as NatsPublisherOptions);
    expect(create).toThrow(
      expect.objectContaining({ code: 'INVALID_CONFIG', message: expect.stringContaining(message) }),
    );
    expect(() => OutboxNatsModule.forRoot(options as NatsPublisherOptions)).toThrow(message);
    expect(create).not.toThrow('hunter2');
  });

  test('options that are no object', () => {
    expect(() => natsPublisher(undefined as never)).toThrow('options must be an object');
  });
});

test('OutboxNatsModule makes a publisher for each application', () => {
  const [provider] = OutboxNatsModule.forRoot({ servers }).provides ?? [];
  expect(provider).toMatchObject({ provide: OutboxPublisher });
  const create = (provider as { useFactory: () => unknown }).useFactory;
  expect(create()).toBeInstanceOf(OutboxPublisher);
  expect(create()).not.toBe(create());
});

describe('a pattern of a stream', () => {
  test.each([
    ['orders.paid', 'orders.paid', true],
    ['orders.*', 'orders.paid', true],
    ['orders.*', 'orders.*', true],
    ['orders.>', 'orders.eu.paid', true],
    ['orders.>', 'orders.>', true],
    ['orders.>', 'orders.*.paid', true],
    ['>', 'orders', true],
    ['*.paid', 'orders.paid', true],
    ['orders', 'orders.paid', false],
    ['orders.paid', 'orders', false],
    ['orders.>', 'orders', false],
    ['orders.*', 'orders.>', false],
    ['orders.*', 'orders.eu.paid', false],
    ['orders.paid', 'orders.*', false],
    ['*', '>', false],
  ])('%s takes %s: %s', (pattern, subject, expected) => {
    expect(covers(pattern, subject)).toBe(expected);
  });
});
