import { Contributions } from '@postcommit/core';
import { nameToken } from '@postcommit/core/internal';

/** The tick that a job runs for. */
export interface JobContext {
  /** Aborts when the job's lock is lost or the application stops. The job should then end soon. */
  readonly signal: AbortSignal;
  /** The scheduled time, not the time of the call: the same in every instance. */
  readonly scheduledAt: Date;
}

/** A job that runs on a schedule. Contribute it to `ScheduledJobsPool`. */
export interface ScheduledJob {
  /** Names the job in events, and its lock across all instances. Unique, 1 to 255 characters. */
  readonly name: string;
  /** A cron expression of five fields, or of six with seconds first. */
  readonly schedule: string;
  /**
   * The IANA name of the schedule's time zone.
   *
   * @default 'UTC'
   */
  readonly timezone?: string | undefined;
  /**
   * The lifetime of the job's lock in milliseconds. With it, and a bound `JobLock` (every SQL store module binds one),
   * only one instance runs each tick. It limits how long the others wait after the running instance crashed, and how far
   * the clocks of hosts may differ. The lock is renewed while the job runs.
   *
   * @default none: every instance runs the job
   */
  readonly lockTtlMs?: number | undefined;
  execute(context: JobContext): Promise<void> | void;
}

/** The jobs that modules contribute. A scheduler runs them between `app.start()` and `app.stop()`. */
export class ScheduledJobsPool extends Contributions<ScheduledJob> {
  static {
    nameToken(this, '@postcommit/scheduler/ScheduledJobsPool');
  }
}
