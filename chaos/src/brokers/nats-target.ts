import { connectNats, startNats } from '@internal/test-brokers/nats';
import { type JetStreamClient, jetstream, jetstreamManager } from '@nats-io/jetstream';
import { natsPublisher } from '@postcommit/publisher-nats';
import { killAndStart } from './kill-and-start.js';
import { type BrokerTarget, type Received, receivedOf } from './target.js';

const STREAM = 'ORDERS';
const SUBJECT = 'order.paid';
/** Nothing may be dropped as a duplicate that the run wants to count. */
const SHORTEST_WINDOW_NS = 100_000_000;

/** A private NATS server that is killed, with a stream on disk. */
export async function natsTarget(): Promise<BrokerTarget> {
  const broker = await startNats();
  await onConnection(broker, async (connection) => {
    const manager = await jetstreamManager(connection);
    await manager.streams.add({
      name: STREAM,
      subjects: [SUBJECT],
      duplicate_window: SHORTEST_WINDOW_NS,
    });
  });
  const servers = [`nats://${broker.host}:${broker.port}`];
  return {
    name: 'NATS JetStream',
    fault: 'killed and started',
    createPublisher: () => natsPublisher({ servers, stream: STREAM }),
    hit: () => killAndStart(broker),
    received: () => onConnection(broker, (connection) => readAll(jetstream(connection))),
    close: () => broker.close(),
  };
}

type Connection = Awaited<ReturnType<typeof connectNats>>;

async function onConnection<T>(
  broker: Parameters<typeof connectNats>[0],
  work: (connection: Connection) => Promise<T>,
): Promise<T> {
  const connection = await connectNats(broker);
  try {
    return await work(connection);
  } finally {
    await connection.close();
  }
}

async function readAll(client: JetStreamClient): Promise<Received[]> {
  const stream = await client.streams.get(STREAM);
  const { state } = await stream.info();
  const received: Received[] = [];
  if (state.messages === 0) return received;
  const consumer = await client.consumers.get(STREAM);
  const messages = await consumer.consume({ max_messages: 1_000 });
  for await (const message of messages) {
    received.push(receivedOf(message.headers?.get('Nats-Msg-Id') ?? '', message.string()));
    if (message.seq >= state.last_seq) break;
  }
  return received;
}
