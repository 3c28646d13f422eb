import { MockKafkaCluster, whyNoMockKafka } from '@internal/test-brokers/kafka';
import { afterAll, describe, it } from 'vitest';

/** Describes tests on a mock cluster; skipped by name where librdkafka is not installed. */
export function describeOnMock(
  name: string,
  brokers: number,
  body: (cluster: MockKafkaCluster) => void,
): void {
  const reason = whyNoMockKafka();
  if (reason !== undefined) {
    // `it.skip` would hide it from the list of tests that run under the newer Node.
    it(`${name}: ${reason}`, ({ skip }) => skip(reason));
    return;
  }
  const cluster = new MockKafkaCluster(brokers);
  afterAll(() => cluster.close());
  describe(name, () => body(cluster));
}
