export { OutboxRetentionJob } from './outbox-retention-job.js';
export { OutboxRetentionModule } from './outbox-retention-module.js';
export type { OutboxRetentionOptions, PurgeReport } from './retention.js';
