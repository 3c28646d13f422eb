import { hasRedisServer } from '@internal/test-brokers/redis';
import { describeOutboxPublisher } from '@postcommit/publisher-testkit';
import { afterAll, describe, test } from 'vitest';
import { bullmqHarness, closeRedisServers } from './bullmq-harness.js';

afterAll(closeRedisServers);

if (hasRedisServer()) describeOutboxPublisher('bullmqPublisher', bullmqHarness());
else describe('bullmqPublisher', () => test.skip('no Redis to run on', () => {}));
