import { OutboxError } from '@postcommit/core';
import { assertTimerDelay, errorText } from '@postcommit/core/internal';
import { Cron } from 'croner';
import type { ScheduledJob } from './scheduled-job.js';

/** When a job runs, and under which name and lock. */
export type JobSchedule = Pick<ScheduledJob, 'name' | 'schedule' | 'timezone' | 'lockTtlMs'>;

const DEFAULT_TIMEZONE = 'UTC';
/** The width of the column that stores the lock's name. */
const MAX_NAME_LENGTH = 255;

/**
 * Checks the name, schedule, time zone and lock of a job. For modules that contribute jobs, to fail early.
 *
 * @throws OutboxError `INVALID_CONFIG`.
 */
export function assertJobSchedule(job: JobSchedule): void {
  const isNamed = typeof job.name === 'string' && job.name !== '' && job.name.length <= MAX_NAME_LENGTH;
  if (!isNamed) throw invalid(job, `name must have 1 to ${MAX_NAME_LENGTH} characters`);
  assertTimezone(job);
  assertLockTtl(job);
  const next = parse(job).nextRun();
  if (!next) throw invalid(job, `schedule '${job.schedule}' has no time in the future`);
}

export function timezoneOf({ timezone }: JobSchedule): string {
  return timezone ?? DEFAULT_TIMEZONE;
}

/** The times of a job's schedule. It starts no timer. */
export function cronOf(job: JobSchedule): Cron {
  return new Cron(job.schedule, { timezone: timezoneOf(job) });
}

/** The latest time of the schedule, including the current second. */
export function latestTick(cron: Cron, now: Date): Date {
  // croner counts in whole seconds and excludes the one it starts from.
  const [latest] = cron.previousRuns(1, new Date(now.getTime() + 1_000));
  return latest ?? new Date(Math.floor(now.getTime() / 1_000) * 1_000);
}

/** Milliseconds until the tick after the next one; infinite if there is none. */
export function msToTickAfterNext(cron: Cron, now: Date): number {
  const [, second] = cron.nextRuns(2, now);
  return second === undefined ? Number.POSITIVE_INFINITY : second.getTime() - now.getTime();
}

function parse(job: JobSchedule): Cron {
  try {
    const cron = cronOf(job);
    // croner also accepts a date, which would fire once and never again.
    if (cron.getPattern() !== undefined) return cron;
  } catch (error) {
    throw invalid(job, `${notCron(job)}: ${errorText(error)}`, error);
  }
  throw invalid(job, notCron(job));
}

function notCron({ schedule }: JobSchedule): string {
  return `schedule '${String(schedule)}' is not a cron expression of five fields, or six with seconds, such as '*/10 * * * * *'`;
}

function assertTimezone(job: JobSchedule): void {
  try {
    new Intl.DateTimeFormat('en', { timeZone: timezoneOf(job) });
  } catch (error) {
    const advice = "use an IANA name such as 'Europe/Berlin', or leave it out for UTC";
    throw invalid(job, `timezone '${String(job.timezone)}' is unknown; ${advice}`, error);
  }
}

function assertLockTtl(job: JobSchedule): void {
  if (job.lockTtlMs !== undefined) assertTimerDelay(`${placeOf(job)}: lockTtlMs`, job.lockTtlMs);
}

function invalid(job: JobSchedule, problem: string, cause?: unknown): OutboxError {
  return new OutboxError('INVALID_CONFIG', `${placeOf(job)}: ${problem}`, { cause });
}

function placeOf({ name }: JobSchedule): string {
  return `scheduled job '${String(name)}'`;
}
