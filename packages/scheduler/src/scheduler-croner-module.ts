import { JobLock, Lifecycles, type Module, optional, provideFactory } from '@postcommit/core';
import { CronerScheduler } from './croner-scheduler.js';
import { ScheduledJobsPool } from './scheduled-job.js';
import { Scheduler } from './scheduler.js';
import { SchedulerSignals } from './scheduler-signals.js';

/** Runs every job of `ScheduledJobsPool` between `app.start()` and `app.stop()`. */
export const SchedulerCronerModule: Module = {
  name: 'SchedulerCronerModule',
  provides: [
    { provide: SchedulerSignals, useFactory: () => new SchedulerSignals() },
    provideFactory(
      CronerScheduler,
      [ScheduledJobsPool, SchedulerSignals, optional(JobLock)],
      (jobs, signals, lock) => new CronerScheduler(jobs, { signals, lock }),
    ),
    { provide: Scheduler, useExisting: CronerScheduler },
  ],
  contributes: [{ pool: Lifecycles, useExisting: CronerScheduler }],
};
