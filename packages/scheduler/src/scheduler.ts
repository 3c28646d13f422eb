import { nameToken } from '@postcommit/core/internal';

export interface PlannedJob {
  readonly name: string;
  readonly schedule: string;
  readonly timezone: string;
  /** Undefined if the schedule has no time in the future. */
  readonly nextAt: Date | undefined;
  readonly isRunning: boolean;
}

/** Runs the jobs of `ScheduledJobsPool`. `SchedulerCronerModule` binds one. */
export abstract class Scheduler {
  static {
    nameToken(this, '@postcommit/scheduler/Scheduler');
  }

  /** Lists the jobs with their next times, for a status page or a test. */
  abstract plan(): readonly PlannedJob[];
}
