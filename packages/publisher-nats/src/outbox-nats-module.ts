import { type Module, OutboxPublisher, provideFactory } from '@postcommit/core';
import { assertNatsOptions, type NatsPublisherOptions } from './nats-options.js';
import { natsPublisher } from './nats-publisher.js';

/**
 * Binds `natsPublisher` as the publisher.
 *
 * @throws OutboxError `INVALID_CONFIG` from `forRoot` for a wrong option.
 * @example
 * OutboxNatsModule.forRoot({ servers: 'nats://localhost:4222', stream: 'ORDERS' })
 */
export const OutboxNatsModule = {
  forRoot: (options: NatsPublisherOptions): Module => {
    // Report a wrong option here, at the call.
    assertNatsOptions(options);
    return {
      name: 'OutboxNatsModule',
      provides: [provideFactory(OutboxPublisher, [], () => natsPublisher(options))],
    };
  },
};
