import {
  type Contribution,
  contributeFactory,
  type Lifecycle,
  Lifecycles,
  OutboxError,
  optional,
} from '@postcommit/core';
import { Scheduler } from './scheduler.js';

/**
 * For modules that contribute jobs: `app.start()` refuses, before anything runs, when nothing would ever run them.
 * It can't be a plain dependency of the job, since the scheduler itself depends on the jobs.
 */
export function requireScheduler(moduleName: string): Contribution {
  return contributeFactory(Lifecycles, [optional(Scheduler)], (scheduler): Lifecycle => {
    if (scheduler) return { name: moduleName, start: () => {}, stop: () => {} };
    throw new OutboxError(
      'MISSING_BINDING',
      `${moduleName} contributes a scheduled job, but nothing runs it: compose SchedulerCronerModule of @postcommit/scheduler too, or bind a Scheduler of your own`,
    );
  });
}
