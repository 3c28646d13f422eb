import { type Module, OutboxPublisher, provideFactory } from '@postcommit/core';
import { type RabbitmqPublisherOptions, resolveOptions } from './options.js';
import { RabbitmqPublisher } from './rabbitmq-publisher.js';

/**
 * Binds a `RabbitmqPublisher` as the publisher.
 *
 * @throws OutboxError `INVALID_CONFIG` from `forRoot` for an invalid option.
 * @example
 * OutboxRabbitmqModule.forRoot({ url: 'amqp://localhost', exchange: 'events' })
 */
export const OutboxRabbitmqModule: { forRoot(options: RabbitmqPublisherOptions): Module } = {
  forRoot(options) {
    // Report an invalid option here, at the call.
    resolveOptions(options);
    return {
      name: 'OutboxRabbitmqModule',
      provides: [
        provideFactory(RabbitmqPublisher, [], () => new RabbitmqPublisher(options)),
        { provide: OutboxPublisher, useExisting: RabbitmqPublisher },
      ],
    };
  },
};
