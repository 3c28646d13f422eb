import { describeOutboxPublisher } from '@postcommit/publisher-testkit';
import { webhookHarness } from './webhook-harness.js';

describeOutboxPublisher('webhookPublisher', webhookHarness(true));

describeOutboxPublisher('webhookPublisher with guarded addresses', webhookHarness(['127.0.0.1']));
