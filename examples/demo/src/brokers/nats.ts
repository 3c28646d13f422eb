import { randomBytes } from 'node:crypto';
import { AckPolicy, jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { natsPublisher } from '@postcommit/publisher-nats';
import { openLink } from '../../../../packages/publisher-testkit/src/link.js';
import { type BrokerKind, BrokerMissing } from './real-broker.js';

/** `NATS_URL`, or NATS on its usual port. */
export const nats: BrokerKind = {
  async open(onArrival) {
    const url = new URL(process.env.NATS_URL ?? 'nats://127.0.0.1:4222');
    const target = { host: url.hostname, port: Number(url.port || 4222) };
    const connection = await connect({ servers: url.href, timeout: 5_000 }).catch((cause) => {
      throw new BrokerMissing(`no NATS answers at ${url.host}: set NATS_URL`, { cause });
    });
    const destination = `postcommit-demo-${randomBytes(6).toString('hex')}`;
    const manager = await jetstreamManager(connection);
    await manager.streams.add({ name: destination, subjects: [`${destination}.>`] });
    await manager.consumers.add(destination, { durable_name: 'demo', ack_policy: AckPolicy.Explicit });
    const consumer = await jetstream(connection).consumers.get(destination, 'demo');
    const messages = await consumer.consume({ max_messages: 100 });
    const consuming = (async () => {
      for await (const message of messages) {
        const headers = Object.fromEntries(
          message.headers?.keys().map((key) => [key, message.headers?.get(key) ?? '']) ?? [],
        );
        await onArrival({ id: headers['Nats-Msg-Id'] ?? '', body: message.string(), headers });
        message.ack();
      }
    })();
    const link = await openLink(target);
    return {
      title: `NATS at ${url.host}`,
      address: { broker: 'nats', urls: [`nats://${link.host}:${link.port}`], destination },
      setDown: (isDown) => (isDown ? link.cut() : link.heal()),
      close: async () => {
        await messages.close();
        await consuming;
        await manager.streams.delete(destination);
        await connection.close();
        await link.close();
      },
    };
  },

  publisher: ({ urls, destination }, format) =>
    natsPublisher({
      servers: [...urls],
      stream: destination,
      subject: ({ topic }) => `${destination}.${topic}`,
      ...format,
    }),
};
