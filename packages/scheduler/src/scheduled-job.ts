import { Contributions, nameToken } from '@postcommit/core';

/** What a job is told about the tick that it runs for. */
export interface JobContext {
  /** Aborts when the job's lock was lost or the application stops: end soon then. */
  readonly signal: AbortSignal;
  /** The time that the schedule names, not the moment of the call: the same in every instance. */
  readonly scheduledAt: Date;
}

/** Something that runs by the clock. Contribute it to `ScheduledJobsPool`. */
export interface ScheduledJob {
  /** Names the job in reports, and its lock among all instances. 1 to 255 characters, one job of each name. */
  readonly name: string;
  /** A cron expression of five fields, or of six with seconds first. */
  readonly schedule: string;
  /** The zone in which the schedule is read, by its IANA name. Default UTC. */
  readonly timezone?: string | undefined;
  /**
   * With it, and a `JobLock` bound (every SQL store module binds one), one instance of all runs each tick. It is how
   * long the others wait after the one that ran has crashed, and the longest that clocks of hosts may differ; the lock
   * is renewed while the job runs. Default none: each instance runs the job.
   */
  readonly lockTtlMs?: number | undefined;
  execute(context: JobContext): Promise<void> | void;
}

/** The jobs that modules contribute; a scheduler runs them between `app.start()` and `app.stop()`. */
export class ScheduledJobsPool extends Contributions<ScheduledJob> {
  static {
    nameToken(this, '@postcommit/scheduler/ScheduledJobsPool');
  }
}
