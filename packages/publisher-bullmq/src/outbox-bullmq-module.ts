import { type Module, OutboxPublisher, provideFactory } from '@postcommit/core';
import { assertBullmqOptions, type BullmqPublisherOptions } from './bullmq-options.js';
import { bullmqPublisher } from './bullmq-publisher.js';

/**
 * Binds `bullmqPublisher` as the publisher.
 *
 * @throws OutboxError `INVALID_CONFIG` from `forRoot` for a wrong option.
 * @example
 * OutboxBullmqModule.forRoot({ connection: { host: 'localhost' }, name: 'orders' })
 */
export const OutboxBullmqModule = {
  forRoot: (options: BullmqPublisherOptions): Module => {
    // Report a wrong option here, at the call.
    assertBullmqOptions(options);
    return {
      name: 'OutboxBullmqModule',
      provides: [provideFactory(OutboxPublisher, [], () => bullmqPublisher(options))],
    };
  },
};
