import { randomUUID } from 'node:crypto';
import { createOutbox } from '@postcommit/core';
import { memoryStore } from '@postcommit/store-memory';
import { type Channel, type ChannelModel, connect } from 'amqplib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RabbitmqPublisher, rabbitmqPublisher } from '../src/index.js';
import { anyBroker, publish, row } from './broker.js';

const url = await anyBroker();
const suffix = url === undefined ? ': no RabbitMQ to run on' : '';

describe.skipIf(url === undefined)(`the topology${suffix}`, () => {
  let client: ChannelModel;
  let channel: Channel;
  let name: string;

  beforeEach(async () => {
    client = await connect(url ?? '');
    channel = await client.createChannel();
    name = `postcommit-${randomUUID()}`;
  });

  afterEach(async () => {
    const cleaner = await client.createChannel();
    await cleaner.deleteQueue(name);
    await cleaner.deleteExchange(name);
    await client.close();
  });

  it('is looked at and never made: an application on a missing exchange does not start', async () => {
    const outbox = createOutbox({
      store: memoryStore(),
      publisher: rabbitmqPublisher({ url, exchange: name }),
    });
    await expect(outbox.start()).rejects.toMatchObject({ code: 'INVALID_CONFIG' });
    await expect(outbox.start()).rejects.toThrow(`RabbitMQ has no exchange '${name}'`);
    await outbox.stop();
    channel.on('error', () => {});
    await expect(channel.checkExchange(name)).rejects.toMatchObject({ code: 404 });
  });

  it('is made with declare, durable, and as often as needed', async () => {
    for (let times = 0; times < 2; times++) {
      const publisher = new RabbitmqPublisher({ url, exchange: name, declare: true });
      await publisher.start();
      expect(await publisher.check()).toEqual([]);
      await publisher.stop({});
    }
    await channel.assertExchange(name, 'topic', { durable: true });
  });

  it('has queues that are bound by their patterns', async () => {
    const declare = { type: 'topic', queues: { [name]: ['order.*', 'user.#'] } };
    const publisher = new RabbitmqPublisher({ url, exchange: name, declare });
    const topics = ['order.paid', 'user.a.b', 'invoice.sent'];
    const results = await publish(
      publisher,
      topics.map((topic) => row({ topic })),
    );
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected']);
    await publisher.stop({});
    const arguments_ = { 'x-queue-type': 'quorum' };
    const { messageCount } = await channel.assertQueue(name, { durable: true, arguments: arguments_ });
    expect(messageCount).toBe(2);
  });

  it('that exists with other settings is a wrong configuration', async () => {
    await channel.assertExchange(name, 'fanout', { durable: false });
    const publisher = new RabbitmqPublisher({ url, exchange: name, declare: true });
    await expect(publisher.start()).rejects.toMatchObject({ code: 'INVALID_CONFIG' });
    const [result] = await publish(publisher, [row()]);
    expect(result).toMatchObject({ reason: { unavailable: true, isCertain: true } });
    await publisher.stop({});
  });
});
