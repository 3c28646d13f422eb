import { type Module, OutboxPublisher, provideFactory } from '@postcommit/core';
import { assertRedisOptions, type RedisPublisherOptions } from './redis-options.js';
import { redisPublisher } from './redis-publisher.js';

/**
 * Binds `redisPublisher` as the publisher.
 *
 * @throws OutboxError `INVALID_CONFIG` from `forRoot` for a wrong option.
 * @example
 * OutboxRedisModule.forRoot({ url: 'redis://localhost:6379' })
 */
export const OutboxRedisModule = {
  forRoot: (options: RedisPublisherOptions): Module => {
    // Report a wrong option here, at the call.
    assertRedisOptions(options);
    return {
      name: 'OutboxRedisModule',
      provides: [provideFactory(OutboxPublisher, [], () => redisPublisher(options))],
    };
  },
};
