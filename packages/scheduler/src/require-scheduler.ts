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
 * Makes `app.start()` fail with `MISSING_BINDING`, before anything runs, if no scheduler is composed. For modules that
 * contribute jobs. It can't be a plain dependency of the job, because the scheduler depends on the jobs.
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
