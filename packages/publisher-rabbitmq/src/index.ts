export { OutboxRabbitmqModule } from './outbox-rabbitmq-module.js';
export type {
  RabbitmqCredentials,
  RabbitmqPublisherOptions,
  RabbitmqTopology,
  RabbitmqUrl,
} from './options.js';
export type {
  RabbitmqChannel,
  RabbitmqClient,
  RabbitmqConfirmChannel,
  RabbitmqConnectionFacts,
  RabbitmqSocketOptions,
} from './rabbitmq-client.js';
export { RabbitmqPublisher, rabbitmqPublisher } from './rabbitmq-publisher.js';
