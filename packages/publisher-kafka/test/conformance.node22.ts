import { describeOutboxPublisher } from '@postcommit/publisher-testkit';
import { mockHarness } from './kafka-harness.js';
import { describeOnMock } from './mock-cluster.js';

describeOnMock('on the mock cluster', 1, (cluster) => {
  describeOutboxPublisher('kafkaPublisher', mockHarness(cluster));
});
