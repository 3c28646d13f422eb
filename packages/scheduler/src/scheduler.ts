import { nameToken } from '@postcommit/core';

export interface PlannedJob {
  readonly name: string;
  readonly schedule: string;
  readonly timezone: string;
  /** Undefined when the schedule has no time left. */
  readonly nextAt: Date | undefined;
  readonly isRunning: boolean;
}

/** Runs the jobs of `ScheduledJobsPool`. `SchedulerCronerModule` binds one. */
export abstract class Scheduler {
  static {
    nameToken(this, '@postcommit/scheduler/Scheduler');
  }

  /** What will run when, for a status page or a test. */
  abstract plan(): readonly PlannedJob[];
}
