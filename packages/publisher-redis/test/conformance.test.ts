import { hasRedisServer } from '@internal/test-brokers/redis';
import { describeOutboxPublisher } from '@postcommit/publisher-testkit';
import { afterAll, describe, test } from 'vitest';
import { closeRedisServers, redisHarness } from './redis-harness.js';

afterAll(closeRedisServers);

if (hasRedisServer()) describeOutboxPublisher('redisPublisher', redisHarness());
else describe('redisPublisher', () => test.skip('no Redis to run on', () => {}));
