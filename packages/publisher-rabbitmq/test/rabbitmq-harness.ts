import { randomUUID } from 'node:crypto';
import type { OutboxRow } from '@postcommit/core';
import {
  openLink,
  type PublisherFixture,
  type PublisherHarness,
  type ReceivedMessage,
} from '@postcommit/publisher-testkit';
import { type Channel, type ChannelModel, type ConsumeMessage, connect } from 'amqplib';
import { type RabbitmqPublisherOptions, rabbitmqPublisher } from '../src/index.js';

/** The broker of a test file. */
export interface HarnessBroker {
  readonly url: string;
  /** SIGKILL, and start again. Absent for a broker that is not ours. */
  readonly restart?: (() => Promise<void>) | undefined;
}

const TIMEOUTS = { connectTimeoutMs: 1_500, confirmTimeoutMs: 1_500 };

export function rabbitmqHarness(broker: () => HarnessBroker): PublisherHarness {
  return {
    traits: { dedupes: false, ordersByKey: true, keepsHeaderCase: true },
    open: () => openFixture(broker()),
  };
}

async function openFixture(broker: HarnessBroker): Promise<PublisherFixture> {
  const { hostname, port } = new URL(broker.url);
  const link = await openLink({ host: hostname, port: Number(port) });
  const names = await TestExchange.create(broker.url);
  const url = through(link, broker.url);
  const options: RabbitmqPublisherOptions = { url, exchange: names.exchange, ...TIMEOUTS };
  return {
    createPublisher: (format) => rabbitmqPublisher({ ...options, ...format }),
    received: async () => names.received,
    topic: 'orders',
    link,
    unroutableTopic: 'nowhere',
    refusingTopic: 'full',
    impossibleRows,
    secrets: [new URL(broker.url).password, 'wrong-horse'],
    withWrongCredentials: () => rabbitmqPublisher({ ...options, url: withPassword(url, 'wrong-horse') }),
    withBorrowedClient: async () => {
      const client = await connect(url);
      let isOpen = true;
      client.on('error', () => {});
      client.on('close', () => {
        isOpen = false;
      });
      const publisher = rabbitmqPublisher({ client, exchange: names.exchange, ...TIMEOUTS });
      return { publisher, isOpen: () => isOpen, close: () => client.close() };
    },
    untruthful: async () => ({
      'a connection without a heartbeat': rabbitmqPublisher({ ...options, url: `${url}?heartbeat=0` }),
    }),
    ...(broker.restart && { restartBroker: () => names.restart(broker) }),
    close: async () => {
      await link.close();
      await names.close();
    },
  };
}

function impossibleRows(row: OutboxRow): Record<string, OutboxRow> {
  return {
    'a routing key of more than 255 bytes': { ...row, topic: 'ж'.repeat(200) },
    'headers that are larger than the table of AMQP': {
      ...row,
      headers: { large: 'x'.repeat(65_000), x: 'y'.repeat(1_000) },
    },
    'a header name of more than 255 bytes': { ...row, headers: { ['n'.repeat(256)]: 'value' } },
    'a header that RabbitMQ reserves': { ...row, headers: { CC: 'elsewhere' } },
  };
}

export function through({ port }: { readonly port: number }, url: string): string {
  const moved = new URL(url);
  moved.hostname = '127.0.0.1';
  moved.port = String(port);
  return moved.href;
}

function withPassword(url: string, password: string): string {
  const changed = new URL(url);
  changed.password = password;
  return changed.href;
}

/** An exchange of a test, with a queue for `orders` that keeps all messages, and one for `full` that is full. */
export class TestExchange {
  readonly exchange: string;
  readonly queue: string;
  readonly #full: string;
  readonly received: ReceivedMessage[] = [];
  readonly #url: string;
  #client: ChannelModel | undefined;
  #channel: Channel | undefined;

  private constructor(url: string) {
    this.#url = url;
    const id = randomUUID();
    this.exchange = `postcommit-${id}`;
    this.queue = `postcommit-${id}-orders`;
    this.#full = `postcommit-${id}-full`;
  }

  static async create(url: string): Promise<TestExchange> {
    const test = new TestExchange(url);
    const channel = await test.#connect();
    await channel.assertExchange(test.exchange, 'topic', { durable: true });
    await channel.assertQueue(test.queue, { durable: true });
    await channel.bindQueue(test.queue, test.exchange, 'orders');
    const refuse = { 'x-max-length': 0, 'x-overflow': 'reject-publish' };
    await channel.assertQueue(test.#full, { durable: true, arguments: refuse });
    await channel.bindQueue(test.#full, test.exchange, 'full');
    await test.#listen(channel);
    return test;
  }

  /** The channel of the test, for what else it needs. */
  get channel(): Channel {
    if (!this.#channel) throw new Error('the test is not connected');
    return this.#channel;
  }

  async restart(broker: HarnessBroker): Promise<void> {
    await broker.restart?.();
    // Nothing was acknowledged, so the queue delivers all that it has kept.
    this.received.length = 0;
    await this.#listen(await this.#connect());
  }

  async close(): Promise<void> {
    for (const queue of [this.queue, this.#full]) await this.channel.deleteQueue(queue);
    await this.channel.deleteExchange(this.exchange);
    await this.#client?.close();
  }

  async #connect(): Promise<Channel> {
    this.#client = await connect(this.#url);
    this.#client.on('error', () => {});
    this.#channel = await this.#client.createChannel();
    this.#channel.on('error', () => {});
    return this.#channel;
  }

  async #listen(channel: Channel): Promise<void> {
    await channel.consume(this.queue, (message) => {
      if (message) this.received.push(receivedOf(message));
    });
  }
}

function receivedOf({ content, fields, properties }: ConsumeMessage): ReceivedMessage {
  const headers: Record<string, string> = { ...properties.headers };
  return {
    id: headers['outbox-id'] ?? '',
    nativeId: properties.messageId,
    destination: fields.routingKey,
    key: headers['outbox-key'],
    body: content,
    contentType: properties.contentType,
    headers,
  };
}
