import { BrokerUnavailable } from '@internal/test-brokers/broker-process';
import { findNats } from '@internal/test-brokers/nats';
import { findRabbitmq } from '@internal/test-brokers/rabbitmq';
import { findKafka } from './kafka-broker.js';

/** Examples that need a broker besides their database, and how to find it. */
const BROKERS: Readonly<Record<string, () => Promise<unknown>>> = {
  kafka: findKafka,
  nats: findNats,
  rabbitmq: async () => {
    if ((await findRabbitmq()) === undefined) throw new BrokerUnavailable('no RabbitMQ to run on');
  },
};

/** Why an example can't run here; undefined if it can. */
export async function missingBroker(example: string): Promise<string | undefined> {
  try {
    await BROKERS[example]?.();
    return undefined;
  } catch (error) {
    if (error instanceof BrokerUnavailable) return error.message;
    throw error;
  }
}
