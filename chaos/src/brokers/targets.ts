import type { BrokerTarget } from './target.js';

/** Loaded one by one: the client of Kafka needs a newer Node. */
export const TARGETS = {
  rabbitmq: async (): Promise<BrokerTarget> => (await import('./rabbitmq-target.js')).rabbitmqTarget(),
  nats: async (): Promise<BrokerTarget> => (await import('./nats-target.js')).natsTarget(),
  kafka: async (): Promise<BrokerTarget> => (await import('./kafka-target.js')).kafkaTarget(),
} as const;

export type TargetName = keyof typeof TARGETS;
