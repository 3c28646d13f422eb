import { startRabbitmq } from '@internal/test-brokers/rabbitmq';
import { rabbitmqPublisher } from '@postcommit/publisher-rabbitmq';
import { type Channel, connect } from 'amqplib';
import { killAndStart } from './kill-and-start.js';
import { type BrokerTarget, type Received, receivedOf } from './target.js';

const QUEUE = 'orders';

/** A private RabbitMQ that is killed, with a durable queue. */
export async function rabbitmqTarget(): Promise<BrokerTarget> {
  const broker = await startRabbitmq();
  await onChannel(broker.url, (channel) => channel.assertQueue(QUEUE, { durable: true }));
  return {
    name: 'RabbitMQ',
    fault: 'killed and started',
    createPublisher: () => rabbitmqPublisher({ url: broker.url, exchange: '', routingKey: () => QUEUE }),
    hit: () => killAndStart(broker),
    received: () => onChannel(broker.url, readAll),
    close: () => broker.close(),
  };
}

async function onChannel<T>(url: string, work: (channel: Channel) => Promise<T>): Promise<T> {
  const connection = await connect(url);
  try {
    return await work(await connection.createChannel());
  } finally {
    await connection.close();
  }
}

async function readAll(channel: Channel): Promise<Received[]> {
  const { messageCount } = await channel.checkQueue(QUEUE);
  const received: Received[] = [];
  if (messageCount === 0) return received;
  await new Promise<void>((resolve, reject) => {
    const take: Parameters<Channel['consume']>[1] = (message) => {
      if (!message) return reject(new Error('the queue is gone'));
      received.push(receivedOf(String(message.properties.messageId), message.content.toString()));
      if (received.length === messageCount) resolve();
    };
    channel.consume(QUEUE, take, { noAck: true }).catch(reject);
  });
  return received;
}
