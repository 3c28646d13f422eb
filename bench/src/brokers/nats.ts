import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { natsPublisher } from '@postcommit/publisher-nats';
import type { BenchBroker, BenchMessage } from './broker.js';

const servers = process.env.NATS_URL ?? 'nats://127.0.0.1:4222';

export const nats: BenchBroker = {
  id: 'nats',
  name: 'NATS JetStream',
  settings:
    'a stream on disk, without replicas; each message acknowledged, with its id for the dedupe window',
  absent: async () => {
    try {
      await (await connect({ servers, timeout: 2_000, reconnect: false })).close();
      return undefined;
    } catch {
      return 'not run: no NATS';
    }
  },
  create: (destination) =>
    administer(async (manager) => {
      await manager.streams.add({ name: destination, subjects: [destination] });
    }),
  remove: (destination) =>
    administer(async (manager) => {
      await manager.streams.delete(destination);
    }),
  open: async (destination) => {
    const connection = await connect({ servers });
    const client = jetstream(connection);
    const send = async ({ id, body }: BenchMessage): Promise<void> => {
      await client.publish(destination, body, { msgID: id, expect: { streamName: destination } });
    };
    return {
      publisher: natsPublisher({ servers, stream: destination, subject: () => destination }),
      send,
      sendAll: async (messages) => {
        await Promise.all(messages.map(send));
      },
      close: () => connection.close(),
    };
  },
};

type Manager = Awaited<ReturnType<typeof jetstreamManager>>;

async function administer(work: (manager: Manager) => Promise<void>): Promise<void> {
  const connection = await connect({ servers });
  await work(await jetstreamManager(connection));
  await connection.close();
}
