import { BrokerUnavailable } from '@internal/test-brokers/broker-process';
import { findRabbitmq, startRabbitmq, type TestRabbitmq } from '@internal/test-brokers/rabbitmq';
import { describeOutboxPublisher } from '@postcommit/publisher-testkit';
import { afterAll, describe } from 'vitest';
import { type HarnessBroker, rabbitmqHarness } from './rabbitmq-harness.js';

const own = await startRabbitmq().catch(unlessNotInstalled);
const url = own?.url ?? (await findRabbitmq());

afterAll(() => own?.close());

if (url === undefined) {
  describe.skip('rabbitmqPublisher: no RabbitMQ to run on', () => {});
} else {
  const broker: HarnessBroker = { url, ...(own && { restart: () => restart(own) }) };
  describeOutboxPublisher(
    'rabbitmqPublisher',
    rabbitmqHarness(() => broker),
  );
}

async function restart(broker: TestRabbitmq): Promise<void> {
  await broker.kill();
  await broker.start();
}

function unlessNotInstalled(error: unknown): undefined {
  if (!(error instanceof BrokerUnavailable)) throw error;
}
