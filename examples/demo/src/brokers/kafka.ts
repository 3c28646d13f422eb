import { randomBytes } from 'node:crypto';
import { BrokerUnavailable } from '@internal/test-brokers/broker-process';
import { KafkaLog, MockKafkaCluster } from '@internal/test-brokers/kafka';

import { kafkaPublisher } from '@postcommit/publisher-kafka';
import { type Arrival, type BrokerKind, BrokerMissing } from './real-broker.js';

const PARTITIONS = 6;
const POLL_MS = 50;

/** librdkafka's mock cluster: no real Kafka comes with npm or Debian. */
export const kafka: BrokerKind = {
  async open(onArrival) {
    const cluster = openCluster();
    const destination = `postcommit-demo-${randomBytes(6).toString('hex')}`;
    cluster.createTopic(destination, PARTITIONS, cluster.brokers.length);
    const stopReading = await readOn(cluster.brokers, destination, onArrival);
    return {
      title: `Kafka (librdkafka's mock cluster of ${cluster.brokers.length} brokers)`,
      address: { broker: 'kafka', urls: cluster.brokers, destination },
      setDown: async (isDown) => {
        for (const index of cluster.brokers.keys())
          if (isDown) cluster.takeDown(index + 1);
          else cluster.bringUp(index + 1);
      },
      close: async () => {
        await stopReading();
        await cluster.close();
      },
    };
  },

  publisher: ({ urls, destination }, format) =>
    kafkaPublisher({ brokers: urls, topic: () => destination, ...format }),
};

function openCluster(): MockKafkaCluster {
  try {
    return new MockKafkaCluster();
  } catch (error) {
    if (!(error instanceof BrokerUnavailable)) throw error;
    throw new BrokerMissing(`${error.message}: install Debian's librdkafka1`, { cause: error });
  }
}

/** Returns a function that reads what is left and stops. */
async function readOn(
  brokers: readonly string[],
  topic: string,
  onArrival: (arrival: Arrival) => Promise<void>,
): Promise<() => Promise<void>> {
  const log = await KafkaLog.open(brokers, topic);
  let read = 0;
  let isStopped = false;
  const reading = (async () => {
    while (!isStopped) {
      // While the brokers are down there is nothing to read.
      const records = await log.read().catch(() => []);
      for (const { headers, value } of records.slice(read))
        await onArrival({ id: headers['outbox-id'] ?? '', body: value.toString(), headers });
      read = Math.max(read, records.length);
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  })();
  return async () => {
    isStopped = true;
    await reading;
    await log.close();
  };
}
