import { rabbitmqPublisher } from '@postcommit/publisher-rabbitmq';
import { connect } from 'amqplib';
import type { BenchBroker, BenchMessage } from './broker.js';

const url = process.env.RABBITMQ_URL ?? 'amqp://guest:guest@127.0.0.1:5672';

export const rabbitmq: BenchBroker = {
  id: 'rabbitmq',
  name: 'RabbitMQ',
  settings: 'a durable classic queue; persistent, mandatory and confirmed messages',
  absent: async () => {
    try {
      await (await connect(url, { timeout: 2_000 })).close();
      return undefined;
    } catch {
      return 'not run: no RabbitMQ';
    }
  },
  create: (destination) =>
    administer(async (channel) => {
      await channel.assertQueue(destination, { durable: true });
    }),
  remove: (destination) =>
    administer(async (channel) => {
      await channel.deleteQueue(destination);
    }),
  open: async (destination) => {
    const connection = await connect(url);
    const channel = await connection.createConfirmChannel();
    const options = { persistent: true, mandatory: true, contentType: 'application/json' };
    const send = ({ id, body }: BenchMessage, confirmed?: (error: unknown) => void): boolean =>
      channel.publish('', destination, Buffer.from(body), { ...options, messageId: id }, confirmed);
    return {
      publisher: rabbitmqPublisher({ url, exchange: '', routingKey: () => destination }),
      send: (message) =>
        new Promise((resolve, reject) => {
          send(message, (error) => (error ? reject(error) : resolve()));
        }),
      sendAll: async (messages) => {
        for (const message of messages) send(message);
        await channel.waitForConfirms();
      },
      close: () => connection.close(),
    };
  },
};

type Channel = Awaited<ReturnType<Awaited<ReturnType<typeof connect>>['createChannel']>>;

async function administer(work: (channel: Channel) => Promise<void>): Promise<void> {
  const connection = await connect(url);
  await work(await connection.createChannel());
  await connection.close();
}
