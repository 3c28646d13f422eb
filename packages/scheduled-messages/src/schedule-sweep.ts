import {
  assertKnownOptions,
  type Clock,
  type DispatchEvents,
  type Lifecycle,
  type OptionNames,
  OutboxError,
  systemClock,
} from '@postcommit/core';
import { COMPLETED_RETENTION, type CompletedRetention } from './purge-completed-schedules.js';
import { DEAD_RETENTION_MS } from './purge-dead-schedules.js';
import type { ScheduleService } from './schedule-service.js';

export interface ScheduleRetentionOptions {
  /** How long `failed` and `cancelled` schedules are kept. Default 30 days. */
  readonly failedAgeMs?: number | undefined;
  /** How long `completed` schedules are kept. Default 7 days. */
  readonly completedAgeMs?: number | undefined;
  /** How many `completed` schedules are kept, the latest ones. Default 1,000. */
  readonly completedCount?: number | undefined;
  /** How often they are looked for, besides at the start. Default 1 h. */
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

/** Fills in defaults and refuses nonsense. */
export function resolveScheduleRetention(options: ScheduleRetentionOptions = {}): ScheduleRetention {
  assertKnownOptions('ScheduledMessagesModule: retention', options, OPTION_NAMES);
  const { failedAgeMs = DEAD_RETENTION_MS, sweepIntervalMs = HOUR_MS } = options;
  const { completedAgeMs: ageMs = COMPLETED_RETENTION.ageMs } = options;
  const { completedCount: count = COMPLETED_RETENTION.count } = options;
  assertPositive('retention.failedAgeMs', failedAgeMs, Number.MAX_SAFE_INTEGER);
  assertPositive('retention.completedAgeMs', ageMs, Number.MAX_SAFE_INTEGER);
  assertCount(count);
  // A longer one does not fit a timer, which would then fire at once.
  assertPositive('retention.sweepIntervalMs', sweepIntervalMs, 2 ** 31 - 1);
  return { failedAgeMs, completed: { ageMs, count }, sweepIntervalMs };
}

/**
 * Deletes old schedules that have ended while the application runs. Every instance does, without a lock:
 * deleting what is gone already is harmless. A sweep that fails is told as `trouble` and comes again.
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

function assertCount(count: number): void {
  if (Number.isInteger(count) && count >= 1 && count < 2 ** 31 - 1) return;
  throw new OutboxError(
    'INVALID_CONFIG',
    `ScheduledMessagesModule: retention.completedCount must be a whole number from 1, got ${String(count)}`,
  );
}
