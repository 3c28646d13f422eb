export type {
  BullmqConnection,
  BullmqPublisherOptions,
  BullmqServerOptions,
  JobOptions,
} from './bullmq-options.js';
export { bullmqPublisher } from './bullmq-publisher.js';
export { rowIdOf } from './job-id.js';
export type { RowJobData } from './job-of-row.js';
export { OutboxBullmqModule } from './outbox-bullmq-module.js';
export type { QueueLike } from './queue-like.js';
