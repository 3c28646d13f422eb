export type { NatsConnectionLike } from './nats-connection-like.js';
export type {
  Credential,
  NatsPublisherOptions,
  StreamSettings,
} from './nats-options.js';
export { natsPublisher } from './nats-publisher.js';
export { OutboxNatsModule } from './outbox-nats-module.js';
