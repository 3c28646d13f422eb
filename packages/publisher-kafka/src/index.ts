// The publisher
export { kafkaPublisher } from './kafka-publisher.js';
export type {
  Credential,
  DeclaredTopics,
  KafkaCompression,
  KafkaConnectionOptions,
  KafkaPublisherOptions,
  KafkaSaslOptions,
} from './kafka-publisher-options.js';

// The part of a client of yours that it uses
export type { KafkaOffset, KafkaProducer, KafkaRecord, KafkaTopicMetadata } from './kafka-client.js';

// Modules
export { OutboxKafkaModule } from './outbox-kafka-module.js';
