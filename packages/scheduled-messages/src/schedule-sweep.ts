import { type Clock, type DispatchEvents, type Lifecycle, OutboxError } from '@postcommit/core';
import {
  assertKnownOptions,
  assertWholeNumber,
  MAX_TIMER_MS,
  type OptionNames,
  systemClock,
} from '@postcommit/core/internal';
import { COMPLETED_RETENTION, type CompletedRetention } from './purge-completed-schedules.js';
import { DEAD_RETENTION_MS } from './purge-dead-schedules.js';
import type { ScheduleService } from './schedule-service.js';

export interface ScheduleRetentionOptions {
  /**
   * How long `failed` and `cancelled` schedules are kept, in milliseconds.
   *
   * @default 30 days
   */
  readonly failedAgeMs?: number | undefined;
  /**
   * How long `completed` schedules are kept, in milliseconds.
   *
   * @default 7 days
   */
  readonly completedAgeMs?: number | undefined;
  /**
   * How many of the latest `completed` schedules are kept.
   *
   * @default 1_000
   */
  readonly completedCount?: number | undefined;
  /**
   * The time between sweeps, in milliseconds; the first runs at startup.
   *
   * @default 1 hour
   */
  readonly sweepIntervalMs?: number | undefined;
}

export interface ScheduleRetention {
  readonly failedAgeMs: number;
  readonly completed: CompletedRetention;
  readonly sweepIntervalMs: number;
}

const OPTION_NAMES: OptionNames<ScheduleRetentionOptions> = {
  failedAgeMs: true,
  completedAgeMs: true,
  completedCount: true,
  sweepIntervalMs: true,
};

const HOUR_MS = 3_600_000;
/** One more is asked for, and every database accepts that as a limit. */
const MOST_KEPT = 2 ** 31 - 2;

/**
 * Fills in the defaults.
 *
 * @throws OutboxError `INVALID_CONFIG` for an invalid option.
 */
export function resolveScheduleRetention(options: ScheduleRetentionOptions = {}): ScheduleRetention {
  assertKnownOptions('ScheduledMessagesModule: retention', options, OPTION_NAMES);
  const { failedAgeMs = DEAD_RETENTION_MS, sweepIntervalMs = HOUR_MS } = options;
  const { completedAgeMs: ageMs = COMPLETED_RETENTION.ageMs } = options;
  const { completedCount: count = COMPLETED_RETENTION.count } = options;
  assertPositive('retention.failedAgeMs', failedAgeMs, Number.MAX_SAFE_INTEGER);
  assertPositive('retention.completedAgeMs', ageMs, Number.MAX_SAFE_INTEGER);
  assertWholeNumber('ScheduledMessagesModule: retention.completedCount', count, { most: MOST_KEPT });
  assertPositive('retention.sweepIntervalMs', sweepIntervalMs, MAX_TIMER_MS);
  return { failedAgeMs, completed: { ageMs, count }, sweepIntervalMs };
}

/**
 * Deletes old, ended schedules while the application runs. Every instance does so without a lock, because deleting rows
 * that are already gone is harmless. A failed sweep is reported as `trouble` and runs again after the interval.
 */
export class ScheduleSweep implements Lifecycle {
  readonly name = 'schedule retention';
  readonly #schedules: Pick<ScheduleService, 'purge' | 'purgeCompleted'>;
  readonly #events: DispatchEvents;
  readonly #retention: ScheduleRetention;
  readonly #clock: Clock;
  #cancelTimer: () => void = () => {};
  #sweeping: Promise<void> | undefined;
  #isRunning = false;

  constructor(
    schedules: Pick<ScheduleService, 'purge' | 'purgeCompleted'>,
    events: DispatchEvents,
    retention: ScheduleRetention,
    clock: Clock = systemClock,
  ) {
    this.#schedules = schedules;
    this.#events = events;
    this.#retention = retention;
    this.#clock = clock;
  }

  start(): void {
    this.#isRunning = true;
    this.#sweeping = this.#sweep();
  }

  async stop(): Promise<void> {
    this.#isRunning = false;
    this.#cancelTimer();
    await this.#sweeping;
  }

  async #sweep(): Promise<void> {
    const { failedAgeMs, completed, sweepIntervalMs } = this.#retention;
    try {
      await this.#schedules.purge(new Date(Date.now() - failedAgeMs));
      await this.#schedules.purgeCompleted(completed);
    } catch (error) {
      this.#events.emit('trouble', { error, retryInMs: sweepIntervalMs });
    }
    if (!this.#isRunning) return;
    this.#cancelTimer = this.#clock.schedule(sweepIntervalMs, () => {
      this.#sweeping = this.#sweep();
    });
  }
}

function assertPositive(name: string, value: number, max: number): void {
  if (value > 0 && value <= max) return;
  throw new OutboxError(
    'INVALID_CONFIG',
    `ScheduledMessagesModule: ${name} must be above 0 and at most ${max} milliseconds, got ${String(value)}`,
  );
}
