import { hasNatsServer } from '@internal/test-brokers/nats';
import { describeOutboxPublisher } from '@postcommit/publisher-testkit';
import { afterAll, describe, test } from 'vitest';
import { closeNatsServer, natsHarness } from './nats-harness.js';

afterAll(closeNatsServer);

if (hasNatsServer()) describeOutboxPublisher('natsPublisher', natsHarness());
else describe('natsPublisher', () => test.skip('no NATS to run on', () => {}));
