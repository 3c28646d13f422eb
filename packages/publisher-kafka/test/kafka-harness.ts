import { randomUUID } from 'node:crypto';
import { KafkaLog, type LoggedRecord, type MockKafkaCluster } from '@internal/test-brokers/kafka';
import { Producer } from '@platformatic/kafka';
import {
  openLink,
  type PublisherFixture,
  type PublisherHarness,
  type ReceivedMessage,
} from '@postcommit/publisher-testkit';
import { kafkaPublisher } from '../src/index.js';
import { KafkaGate } from './kafka-gate.js';
import { SaslGuard } from './sasl-guard.js';

const TIMEOUT_MS = 2_000;
const PASSWORD = 'correct-horse';
const WRONG_PASSWORD = 'wrong-battery';

/** A broker of librdkafka's mock cluster, with a topic of its own for each test. The cluster makes topics by itself. */
export function mockHarness(cluster: MockKafkaCluster): PublisherHarness {
  cluster.createTopic('forbidden', 1);
  cluster.failTopic('forbidden', 'topicAuthorizationFailed');
  cluster.createTopic('nowhere', 1);
  cluster.failTopic('nowhere', 'unknownTopic');
  return {
    traits: { dedupes: false, ordersByKey: true, keepsHeaderCase: true },
    open: () => openTopic(cluster, `orders-${randomUUID()}`),
  };
}

async function openTopic(cluster: MockKafkaCluster, topic: string): Promise<PublisherFixture> {
  const gate = await KafkaGate.open(cluster.brokers[0], new SaslGuard(PASSWORD));
  const link = await openLink(gate.address);
  gate.linkPort = link.port;
  const log = await KafkaLog.open(cluster.brokers, topic);
  const brokers = [`${link.host}:${link.port}`];
  const sasl = { mechanism: 'PLAIN', username: 'orders', password: () => PASSWORD } as const;
  const options = { brokers, sasl, timeoutMs: TIMEOUT_MS };
  return {
    createPublisher: (format) => kafkaPublisher({ ...options, ...format }),
    received: async () => (await log.read()).map(asReceived),
    topic,
    link,
    unroutableTopic: 'nowhere',
    refusingTopic: 'forbidden',
    impossibleRows: (row) => ({
      'a topic with a space': { ...row, topic: 'two words' },
      'a topic that is too long': { ...row, topic: 'o'.repeat(250) },
    }),
    secrets: [PASSWORD, WRONG_PASSWORD],
    withWrongCredentials: () => kafkaPublisher({ ...options, sasl: { ...sasl, password: WRONG_PASSWORD } }),
    withBorrowedClient: async () => {
      const producer = new Producer({ clientId: 'app', bootstrapBrokers: brokers, retries: 0, sasl });
      return {
        publisher: kafkaPublisher({ producer, timeoutMs: TIMEOUT_MS }),
        isOpen: () => !producer.closed && producer.isConnected(),
        close: async () => producer.close(true),
      };
    },
    untruthful: async () => ({
      'a topic with one replica': kafkaPublisher({ ...options, topics: [topic] }),
    }),
    close: async () => {
      await link.close();
      await gate.close();
      await log.close();
    },
  };
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
