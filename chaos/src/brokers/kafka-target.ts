import { setTimeout as pause } from 'node:timers/promises';
import { BrokerUnavailable } from '@internal/test-brokers/broker-process';
import { KafkaLog, MockKafkaCluster } from '@internal/test-brokers/kafka';

import { kafkaPublisher } from '@postcommit/publisher-kafka';
import { type BrokerTarget, receivedOf } from './target.js';

const TOPIC = 'orders';
const BROKERS = 3;
const PARTITIONS = 6;
const AWAY_MS = 1_000;

/** A mock cluster, which keeps nothing: leaders move, and its brokers go away and come back. */
export async function kafkaTarget(): Promise<BrokerTarget> {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  if (major < 22 || (major === 22 && minor < 22)) throw new BrokerUnavailable('needs Node 22.22 or newer');
  const cluster = new MockKafkaCluster(BROKERS);
  cluster.createTopic(TOPIC, PARTITIONS);
  let hits = 0;
  return {
    name: "Kafka (librdkafka's mock cluster)",
    fault: 'leaders moved, and a broker or all of them down and up',
    createPublisher: () => kafkaPublisher({ brokers: cluster.brokers, topic: () => TOPIC }),
    hit: async () => {
      hits += 1;
      for (let partition = 0; partition < PARTITIONS; partition++)
        cluster.setLeader(TOPIC, partition, 1 + ((partition + hits) % BROKERS));
      // Every third time nobody is left.
      const down = hits % 3 === 0 ? [1, 2, 3] : [1 + (hits % BROKERS)];
      for (const broker of down) cluster.takeDown(broker);
      await pause(AWAY_MS);
      for (const broker of down) cluster.bringUp(broker);
    },
    received: async () => {
      const log = await KafkaLog.open(cluster.brokers, TOPIC);
      try {
        const records = await log.read();
        return records.map(({ headers, value }) => receivedOf(headers['outbox-id'] ?? '', value.toString()));
      } finally {
        await log.close();
      }
    },
    close: async () => cluster.close(),
  };
}
