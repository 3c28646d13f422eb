import {
  contributeFactory,
  DispatchEvents,
  type Module,
  OutboxDispatcher,
  OutboxStore,
} from '@postcommit/core';
import { assertKnownOptions, assertWholeNumber, OutboxDriver } from '@postcommit/core/internal';
import {
  DISPATCH_JOB_DEFAULTS,
  DISPATCH_JOB_NAMES,
  OutboxDispatchJob,
  type OutboxDispatchJobOptions,
} from './outbox-dispatch-job.js';
import { requireScheduler } from './require-scheduler.js';
import { assertJobSchedule } from './schedule.js';
import { ScheduledJobsPool } from './scheduled-job.js';

export type OutboxSchedulerModuleOptions = Omit<OutboxDispatchJobOptions, 'clock'>;

const NAME = 'OutboxSchedulerModule';
const { clock: _, ...OPTION_NAMES } = DISPATCH_JOB_NAMES;

/**
 * Dispatches on a schedule instead of with the worker: in one instance of all, every second by default. Compose it with
 * `SchedulerCronerModule`. Use it as a module with all defaults, or pass options to `forRoot`.
 *
 * @throws OutboxError `INVALID_CONFIG` from `forRoot` for an invalid option.
 * @example
 * composeModules([OutboxModule, OutboxPgModule.forRoot({ pool }), SchedulerCronerModule, OutboxSchedulerModule])
 */
export const OutboxSchedulerModule: Module & { forRoot(options?: OutboxSchedulerModuleOptions): Module } = {
  ...outboxSchedulerModule({}),
  forRoot: (options = {}) => outboxSchedulerModule(options),
};

function outboxSchedulerModule(options: OutboxSchedulerModuleOptions): Module {
  assertKnownOptions(NAME, options, OPTION_NAMES);
  assertOptions(options);
  return {
    name: NAME,
    provides: [{ provide: OutboxDriver, useValue: { name: NAME } }],
    contributes: [
      contributeFactory(
        ScheduledJobsPool,
        [OutboxDispatcher, OutboxStore, DispatchEvents],
        (dispatcher, store, events) => new OutboxDispatchJob(dispatcher, store, events, options),
      ),
      requireScheduler(NAME),
    ],
  };
}

/** Fails at the call, not at the first tick. */
function assertOptions({ schedule, lockTtlMs, timezone, limit }: OutboxSchedulerModuleOptions): void {
  assertJobSchedule({
    name: DISPATCH_JOB_DEFAULTS.name,
    schedule: schedule ?? DISPATCH_JOB_DEFAULTS.schedule,
    lockTtlMs: lockTtlMs ?? DISPATCH_JOB_DEFAULTS.lockTtlMs,
    timezone,
  });
  if (limit !== undefined) assertWholeNumber(`${NAME}: limit`, limit);
}
