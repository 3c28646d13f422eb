import { OutboxPublisher } from '@postcommit/core';
import { describe, expect, test } from 'vitest';
import { type BullmqPublisherOptions, bullmqPublisher, OutboxBullmqModule } from '../src/index.js';

const own = { connection: { host: '127.0.0.1', password: 'hunter2' }, name: 'orders' };
const queue = { name: 'orders', add: () => {}, waitUntilReady: () => {} };
class Client {}

describe('bullmqPublisher refuses', () => {
  test.each<[string, object]>([
    ['pass either connection or queue', {}],
    ['pass either connection or queue', { ...own, queue }],
    ['name has no effect on a queue', { queue, name: 'orders' }],
    ['queue must be a Queue', { queue: {} }],
    ['queue must be a Queue', { queue: null }],
    ['connection must be the options of ioredis', { ...own, connection: new Client() }],
    ['connection must be the options of ioredis', { ...own, connection: 'redis://:hunter2@localhost' }],
    ['name must be the name of a queue', { connection: {} }],
    ['name must be the name of a queue', { ...own, name: 'orders:eu' }],
    ['prefix must be', { ...own, prefix: '' }],
    ["unknown option 'jobNames': did you mean 'jobName'?", { ...own, jobNames: () => 'a' }],
    ['jobName must be a function', { ...own, jobName: 'order' }],
    ['jobOptions must be an object or a function', { ...own, jobOptions: 3 }],
    ['jobOptions.jobId is made of the id of the row', { ...own, jobOptions: { jobId: '7' } }],
    ["data must be 'payload' or 'row'", { ...own, data: 'everything' }],
    ['timeoutMs must be', { ...own, timeoutMs: 0 }],
    ['connectTimeoutMs must be', { ...own, connectTimeoutMs: Number.NaN }],
  ])('%s: %j', (message, options) => {
    const create = (): OutboxPublisher => bullmqPublisher(options as BullmqPublisherOptions);
    expect(create).toThrow(
      expect.objectContaining({ code: 'INVALID_CONFIG', message: expect.stringContaining(message) }),
    );
    expect(() => OutboxBullmqModule.forRoot(options as BullmqPublisherOptions)).toThrow(message);
    expect(create).not.toThrow('hunter2');
  });

  test('options that are no object', () => {
    expect(() => bullmqPublisher(undefined as never)).toThrow('options must be an object');
  });
});

test('OutboxBullmqModule makes a publisher for each application', () => {
  const [provider] = OutboxBullmqModule.forRoot(own).provides ?? [];
  expect(provider).toMatchObject({ provide: OutboxPublisher });
  const create = (provider as { useFactory: () => unknown }).useFactory;
  expect(create()).toBeInstanceOf(OutboxPublisher);
  expect(create()).not.toBe(create());
});
