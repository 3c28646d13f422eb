// queue-publisher.test.ts
import { describeOutboxPublisher } from '@postcommit/publisher-testkit';
import { queueHarness } from './queue-harness.js';

describeOutboxPublisher('QueuePublisher', queueHarness);
