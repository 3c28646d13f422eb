import { contributeFactory, type Module, OutboxStore, optional, ProcessedMessages } from '@postcommit/core';
import { requireScheduler, ScheduledJobsPool } from '@postcommit/scheduler';
import { OutboxRetentionJob } from './outbox-retention-job.js';
import { type OutboxRetentionOptions, resolveRetention } from './retention.js';

const NAME = 'OutboxRetentionModule';

/**
 * Sweeps the outbox: dispatched rows older than 7 days, daily at 03:00 UTC. Compose it with `SchedulerCronerModule`. It
 * is a module itself, with all defaults; `forRoot` takes options.
 */
export const OutboxRetentionModule: Module & { forRoot(options?: OutboxRetentionOptions): Module } = {
  ...retentionModule({}),
  forRoot: (options = {}) => retentionModule(options),
};

function retentionModule(options: OutboxRetentionOptions): Module {
  // Refuses nonsense here, where it was written, not at three in the morning.
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
