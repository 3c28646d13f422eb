// The publisher
export { kafkaPublisher } from './kafka-publisher.js';
export type {
  Credential,
  DeclaredTopics,
  KafkaConnectionOptions,
  KafkaPublisherOptions,
  KafkaSaslOptions,
} from './kafka-publisher-options.js';

// The part of a client of yours that it uses
export type {
  KafkaCompression,
  KafkaOffset,
  KafkaProducer,
  KafkaRecord,
  KafkaTopicMetadata,
} from './kafka-producer.js';

// Modules
export { OutboxKafkaModule } from './outbox-kafka-module.js';
