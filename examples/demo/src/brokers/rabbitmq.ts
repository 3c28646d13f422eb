import { randomBytes } from 'node:crypto';
import { rabbitmqPublisher } from '@postcommit/publisher-rabbitmq';
import { type ConsumeMessage, connect } from 'amqplib';
import { openLink } from '../../../../packages/publisher-testkit/src/link.js';
import { type BrokerKind, BrokerMissing } from './real-broker.js';

/** `RABBITMQ_URL`, or RabbitMQ on its usual port. */
export const rabbitmq: BrokerKind = {
  async open(onArrival) {
    const url = new URL(process.env.RABBITMQ_URL ?? 'amqp://guest:guest@127.0.0.1:5672');
    const target = { host: url.hostname, port: Number(url.port || 5672) };
    const client = await connect(url.href, { timeout: 5_000 }).catch((cause) => {
      throw new BrokerMissing(`no RabbitMQ answers at ${url.host}: set RABBITMQ_URL`, { cause });
    });
    const destination = `postcommit-demo-${randomBytes(6).toString('hex')}`;
    const channel = await client.createChannel();
    await channel.assertExchange(destination, 'topic', { durable: true });
    await channel.assertQueue(destination, { durable: true });
    await channel.bindQueue(destination, destination, '#');
    const take = async ({ properties, content }: ConsumeMessage): Promise<void> => {
      const { messageId, headers = {} } = properties;
      await onArrival({ id: String(messageId), body: content.toString(), headers: { ...headers } });
    };
    // One at a time: the ledger has the order of arrival.
    await channel.prefetch(1);
    await channel.consume(destination, (message) => {
      if (message) void take(message).then(() => channel.ack(message));
    });
    const link = await openLink(target);
    const through = new URL(url);
    through.host = `${link.host}:${link.port}`;
    return {
      title: `RabbitMQ at ${url.host}`,
      address: { broker: 'rabbitmq', urls: [through.href], destination },
      setDown: (isDown) => (isDown ? link.cut() : link.heal()),
      close: async () => {
        await channel.deleteQueue(destination);
        await channel.deleteExchange(destination);
        await client.close();
        await link.close();
      },
    };
  },

  publisher: ({ urls, destination }, format) =>
    rabbitmqPublisher({ url: urls, exchange: destination, ...format }),
};
