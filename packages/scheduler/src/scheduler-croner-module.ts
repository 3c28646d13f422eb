import { JobLock, Lifecycles, type Module, optional, provideFactory } from '@postcommit/core';
import { CronerScheduler } from './croner-scheduler.js';
import { ScheduledJobsPool } from './scheduled-job.js';
import { Scheduler } from './scheduler.js';
import { SchedulerEvents } from './scheduler-events.js';

/** Runs every job of `ScheduledJobsPool` between `app.start()` and `app.stop()`. */
export const SchedulerCronerModule: Module = {
  name: 'SchedulerCronerModule',
  provides: [
    { provide: SchedulerEvents, useFactory: () => new SchedulerEvents() },
    provideFactory(
      CronerScheduler,
      [ScheduledJobsPool, SchedulerEvents, optional(JobLock)],
      (jobs, events, lock) => new CronerScheduler(jobs, { events, lock }),
    ),
    { provide: Scheduler, useExisting: CronerScheduler },
  ],
  contributes: [{ to: Lifecycles, useExisting: CronerScheduler }],
};
