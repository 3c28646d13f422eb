import { describeOutboxPublisher } from '@postcommit/publisher-testkit';
import { mockHarness } from './kafka-harness.js';

describeOutboxPublisher('kafkaPublisher on the mock cluster', mockHarness);
