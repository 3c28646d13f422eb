import { KafkaLog, type LoggedRecord, MockKafkaCluster } from '@internal/test-brokers/kafka';
import { Producer } from '@platformatic/kafka';
import {
  openLink,
  type PublisherFixture,
  type PublisherHarness,
  type ReceivedMessage,
} from '@postcommit/publisher-testkit';
import { kafkaPublisher } from '../src/index.js';
import { RewrittenPorts } from './rewritten-ports.js';

const TIMEOUT_MS = 2_000;
const PASSWORD = 'correct-horse';

/** One broker of librdkafka's mock cluster for each test. */
export const mockHarness: PublisherHarness = {
  traits: { dedupes: false, ordersByKey: true, keepsHeaderCase: true },
  open: openMock,
};

async function openMock(): Promise<PublisherFixture> {
  const cluster = new MockKafkaCluster(1);
  cluster.createTopic('orders', 6);
  cluster.createTopic('forbidden', 1);
  cluster.failTopic('forbidden', 'topicAuthorizationFailed');
  cluster.createTopic('nowhere', 1);
  cluster.failTopic('nowhere', 'unknownTopic');
  const ports = await RewrittenPorts.open(portOf(cluster.brokers[0]));
  const link = await openLink({ host: ports.host, port: ports.port });
  ports.linkPort = link.port;
  const log = await KafkaLog.open(cluster.brokers, 'orders');
  const brokers = [`${link.host}:${link.port}`];
  return {
    createPublisher: (format) => kafkaPublisher({ brokers, timeoutMs: TIMEOUT_MS, ...format }),
    received: async () => (await log.read()).map(asReceived),
    topic: 'orders',
    link,
    unroutableTopic: 'nowhere',
    refusingTopic: 'forbidden',
    impossibleRows: (row) => ({
      'a topic with a space': { ...row, topic: 'two words' },
      'a topic that is too long': { ...row, topic: 'o'.repeat(250) },
    }),
    secrets: [PASSWORD],
    withBorrowedClient: async () => {
      const producer = new Producer({ clientId: 'app', bootstrapBrokers: brokers, retries: 0 });
      return {
        publisher: kafkaPublisher({ producer, timeoutMs: TIMEOUT_MS }),
        isOpen: () => !producer.closed && producer.isConnected(),
        close: async () => producer.close(true),
      };
    },
    untruthful: async () => ({
      'a topic with one replica': kafkaPublisher({ brokers, topics: ['orders'], timeoutMs: TIMEOUT_MS }),
    }),
    close: async () => {
      await link.close();
      await ports.close();
      await log.close();
      cluster.close();
    },
  };
}

function portOf(address = ''): number {
  return Number(address.split(':')[1]);
}

function asReceived({ topic, key, value, headers }: LoggedRecord): ReceivedMessage {
  return {
    id: headers['outbox-id'] ?? '',
    destination: topic,
    key,
    body: value,
    contentType: headers['content-type'],
    headers,
  };
}
