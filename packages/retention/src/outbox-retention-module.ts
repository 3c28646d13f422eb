import { contributeFactory, type Module, OutboxStore, optional, ProcessedMessages } from '@postcommit/core';
import { requireScheduler, ScheduledJobsPool } from '@postcommit/scheduler';
import { OutboxRetentionJob } from './outbox-retention-job.js';
import { type OutboxRetentionOptions, resolveRetention } from './retention.js';

const NAME = 'OutboxRetentionModule';

/**
 * Deletes old rows of the outbox: by default dispatched rows older than 7 days, daily at 03:00 UTC. Compose it with
 * `SchedulerCronerModule`. Use it as a module with all defaults, or pass options to `forRoot`.
 *
 * @throws OutboxError `INVALID_CONFIG` from `forRoot` for an invalid option.
 * @example
 * OutboxRetentionModule.forRoot({ retentionMs: 24 * 60 * 60_000 })
 */
export const OutboxRetentionModule: Module & { forRoot(options?: OutboxRetentionOptions): Module } = {
  ...retentionModule({}),
  forRoot: (options = {}) => retentionModule(options),
};

function retentionModule(options: OutboxRetentionOptions): Module {
  // Report an invalid option here, at the call, not at three in the morning.
  resolveRetention(options);
  return {
    name: NAME,
    contributes: [
      contributeFactory(
        ScheduledJobsPool,
        [OutboxStore, optional(ProcessedMessages)],
        (store, processed) => new OutboxRetentionJob(store, processed, options),
      ),
      requireScheduler(NAME),
    ],
  };
}
