import { type Module, OutboxPublisher } from '@postcommit/core';
import { kafkaPublisher } from './kafka-publisher.js';
import type { KafkaPublisherOptions } from './kafka-publisher-options.js';

/**
 * Binds `kafkaPublisher` as the publisher, for applications composed from modules.
 *
 * @throws OutboxError `INVALID_CONFIG` from `forRoot` for an invalid option.
 * @example
 * OutboxKafkaModule.forRoot({ brokers: ['localhost:9092'], topics: ['orders'], topic: () => 'orders' })
 */
export const OutboxKafkaModule: { forRoot(options: KafkaPublisherOptions): Module } = {
  forRoot: (options) => ({
    name: 'OutboxKafkaModule',
    provides: [{ provide: OutboxPublisher, useValue: kafkaPublisher(options) }],
  }),
};
