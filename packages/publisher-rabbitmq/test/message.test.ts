import { PermanentError } from '@postcommit/core';
import type { GetMessage } from 'amqplib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RabbitmqPublisher, type RabbitmqPublisherOptions } from '../src/index.js';
import { anyBroker, publish, reasonOf, row } from './broker.js';
import { TestExchange } from './rabbitmq-harness.js';

const url = await anyBroker();
const suffix = url === undefined ? ': no RabbitMQ to run on' : '';

describe.skipIf(url === undefined)(`a message${suffix}`, () => {
  let test: TestExchange;
  let queue: string;
  let publisher: RabbitmqPublisher | undefined;

  beforeEach(async () => {
    test = await TestExchange.create(url ?? '');
    ({ queue } = await test.channel.assertQueue('', { exclusive: true }));
    await test.channel.bindQueue(queue, test.exchange, '#');
  });

  afterEach(async () => {
    await publisher?.stop({});
    await test.close();
  });

  function create(options: Partial<RabbitmqPublisherOptions> = {}): RabbitmqPublisher {
    publisher = new RabbitmqPublisher({ url, exchange: test.exchange, ...options });
    return publisher;
  }

  async function sent(): Promise<GetMessage> {
    const message = await test.channel.get(queue, { noAck: true });
    if (!message) throw new Error('nothing was sent');
    return message;
  }

  it('is persistent, and has the fields of the row as AMQP properties', async () => {
    const paid = row({ topic: 'order.paid', key: 'order-7', headers: { traceparent: '00-a-b-01' } });
    expect(await publish(create(), [paid])).toEqual([{ status: 'fulfilled' }]);
    const { fields, properties } = await sent();
    expect(fields.routingKey).toBe('order.paid');
    expect(properties).toMatchObject({
      deliveryMode: 2,
      messageId: paid.id,
      type: 'order.paid',
      timestamp: 1_774_746_123,
      contentType: 'application/json',
      headers: {
        'outbox-id': paid.id,
        'outbox-topic': 'order.paid',
        'outbox-key': 'order-7',
        'outbox-created-at': '2026-03-29T01:02:03.456Z',
        traceparent: '00-a-b-01',
      },
    });
  });

  it('goes where the function routingKey says', async () => {
    await publish(create({ routingKey: ({ key = 'none' }) => `by-key.${key}` }), [row({ key: 'order-7' })]);
    expect((await sent()).fields.routingKey).toBe('by-key.order-7');
  });

  it('has its topic in the header if that is too long for the property', async () => {
    const topic = 'ж'.repeat(200);
    await publish(create({ routingKey: () => 'short' }), [row({ topic })]);
    const { properties } = await sent();
    expect(properties.type).toBeUndefined();
    expect(properties.headers?.['outbox-topic']).toBe(topic);
  });

  it.each([
    { what: 'a routing function that fails', routingKey: () => JSON.parse('{') },
    { what: 'a routing function that returns no text', routingKey: () => undefined as unknown as string },
    { what: 'a routing key that is too long', routingKey: () => 'k'.repeat(256) },
  ])('is refused for good by $what, alone', async ({ routingKey }) => {
    const bad = row({ topic: 'bad' });
    const results = await publish(
      create({ routingKey: (one) => (one.topic === 'bad' ? routingKey() : one.topic) }),
      [row(), bad, row()],
    );
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(reasonOf(results[1])).toBeInstanceOf(PermanentError);
    expect(reasonOf(results[1]).message).toContain(bad.id);
  });

  it('is one structured CloudEvent, with its data encoded once', async () => {
    let calls = 0;
    const encode = () => {
      calls += 1;
      return { body: new Uint8Array([1, 2, 3]), contentType: 'application/avro', headers: { schema: '7' } };
    };
    const paid = row({ key: 'order-7' });
    await publish(create({ encode, cloudEvents: { source: '/shop' } }), [paid]);
    const { content, properties } = await sent();
    expect(properties.contentType).toBe('application/cloudevents+json');
    expect(properties.headers).toMatchObject({ schema: '7', 'outbox-id': paid.id });
    expect(JSON.parse(content.toString())).toMatchObject({
      specversion: '1.0',
      id: paid.id,
      source: '/shop',
      type: 'orders',
      partitionkey: 'order-7',
      datacontenttype: 'application/avro',
      data_base64: 'AQID',
    });
    expect(calls).toBe(1);
  });
});
