import { type Lifecycle, OutboxError, type StopOptions } from '@postcommit/core';
import { assertKnownOptions, DEFAULT_GRACE_MS, nameToken, type OptionNames } from '@postcommit/core/internal';
import type { Cron } from 'croner';
import { JobRunner, type JobRunnerOptions } from './job-runner.js';
import { assertJobSchedule, cronOf, latestTick, msToTickAfterNext, timezoneOf } from './schedule.js';
import type { ScheduledJob } from './scheduled-job.js';
import { type PlannedJob, Scheduler } from './scheduler.js';

const RUNNER_NAMES: OptionNames<JobRunnerOptions> = { events: true, lock: true, clock: true };

interface Entry {
  readonly job: ScheduledJob;
  /** Computes times and is never stopped: a stopped cron has no next time, and a job may end after the stop. */
  readonly times: Cron;
  readonly runner: JobRunner;
}

/**
 * Runs jobs with croner. A tick is skipped while its job still runs. A job's error is emitted and never ends the process.
 *
 * @throws OutboxError `INVALID_CONFIG` from the constructor for an invalid job, two jobs with the same name, or an unknown option.
 */
export class CronerScheduler extends Scheduler implements Lifecycle {
  static {
    nameToken(this, '@postcommit/scheduler/CronerScheduler');
  }

  readonly name = 'CronerScheduler';
  readonly phase = 'work';
  readonly #entries: readonly Entry[];
  #crons: readonly Cron[] = [];

  constructor(jobs: Iterable<ScheduledJob>, options: JobRunnerOptions = {}) {
    super();
    assertKnownOptions('CronerScheduler', options, RUNNER_NAMES);
    const all = [...jobs];
    for (const job of all) assertJobSchedule(job);
    assertDistinct(all.map(({ name }) => name));
    this.#entries = all.map((job) => ({ job, times: cronOf(job), runner: new JobRunner(job, options) }));
  }

  plan(): readonly PlannedJob[] {
    return this.#entries.map(({ job, times, runner }) => ({
      name: job.name,
      schedule: job.schedule,
      timezone: timezoneOf(job),
      nextAt: times.nextRun() ?? undefined,
      isRunning: runner.isRunning,
    }));
  }

  start(): void {
    this.#stopTimers();
    this.#crons = this.#entries.map((entry) => cronOf(entry.job).schedule(() => fire(entry)));
  }

  async stop({ graceMs = DEFAULT_GRACE_MS }: StopOptions = {}): Promise<void> {
    this.#stopTimers();
    await Promise.all(this.#entries.map(({ runner }) => runner.stop(graceMs)));
  }

  #stopTimers(): void {
    for (const cron of this.#crons) cron.stop();
    this.#crons = [];
  }
}

function fire({ times, runner }: Entry): void {
  const scheduledAt = latestTick(times, new Date());
  void runner.tick({
    scheduledAt,
    ageMs: () => Date.now() - scheduledAt.getTime(),
    msToTickAfterNext: () => msToTickAfterNext(times, new Date()),
  });
}

function assertDistinct(names: readonly string[]): void {
  const duplicate = names.find((name, index) => names.indexOf(name) !== index);
  if (duplicate === undefined) return;
  throw new OutboxError(
    'INVALID_CONFIG',
    `two scheduled jobs are called '${duplicate}' and would share one lock; give each a unique name`,
  );
}
