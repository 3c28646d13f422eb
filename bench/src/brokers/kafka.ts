import { MockKafkaCluster, whyNoMockKafka } from '@internal/test-brokers/kafka';
import { kafkaPublisher } from '@postcommit/publisher-kafka';
import { atEnd } from '../at-end.js';
import { needsNode } from '../subjects/node-version.js';
import type { BenchBroker, BenchMessage } from './broker.js';

const BROKERS = 3;
const PARTITIONS = 6;

let cluster: MockKafkaCluster | undefined;

export const kafka: BenchBroker = {
  id: 'kafka',
  name: "Kafka (librdkafka's mock cluster)",
  settings: 'three mock brokers that keep everything in memory, six partitions; acknowledged by all replicas',
  absent: async () => (await needsNode(22, 22)()) ?? whyNoMockKafka(),
  create: async (destination) => {
    openCluster().createTopic(destination, PARTITIONS, BROKERS);
  },
  // The cluster ends with the process.
  remove: async () => {},
  open: async (destination) => {
    const brokers = (process.env.BENCH_KAFKA ?? '').split(',');
    const { Producer, ProduceAcks } = await import('@platformatic/kafka');
    const producer = new Producer({ clientId: 'bench', bootstrapBrokers: brokers });
    const sendAll = async (messages: readonly BenchMessage[]): Promise<void> => {
      await producer.send({
        acks: ProduceAcks.ALL,
        messages: messages.map(({ id, body }) => ({
          topic: destination,
          value: Buffer.from(body),
          headers: new Map([[Buffer.from('outbox-id'), Buffer.from(id)]]),
        })),
      });
    };
    return {
      publisher: kafkaPublisher({ brokers, topic: () => destination }),
      send: (message) => sendAll([message]),
      sendAll,
      close: () => producer.close(),
    };
  },
};

/** One for all trials. Consumers in other processes find it by the environment. */
function openCluster(): MockKafkaCluster {
  if (!cluster) {
    const opened = new MockKafkaCluster(BROKERS);
    cluster = opened;
    process.env.BENCH_KAFKA = opened.brokers.join(',');
    atEnd(async () => opened.close());
  }
  return cluster;
}
