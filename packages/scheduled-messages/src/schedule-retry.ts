import type { RetryOptions } from '@postcommit/core';
import { type OptionNames, unknownOption } from '@postcommit/core/internal';
import { ScheduleError } from './schedule-error.js';

/** How a scheduled message is retried. Omitted fields come from the module's `retry`, then from the defaults. */
export interface ScheduleRetry {
  /**
   * Attempts, including the first: 1 to 20.
   *
   * @default 5
   */
  readonly attempts?: number | undefined;
  readonly backoff?: ScheduleBackoff | undefined;
}

export interface ScheduleBackoff {
  /**
   * `exponential` doubles the delay after each failure, up to one day.
   *
   * @default 'exponential'
   */
  readonly type?: 'fixed' | 'exponential' | undefined;
  /**
   * The delay after the first failure, in milliseconds: 1,000 to 3,600,000 (1 h).
   *
   * @default 30_000
   */
  readonly delay?: number | undefined;
}

/** A complete retry policy. */
export interface ScheduleRetryPolicy {
  readonly attempts: number;
  readonly backoff: { readonly type: 'fixed' | 'exponential'; readonly delay: number };
}

const RETRY_NAMES: OptionNames<ScheduleRetry> = { attempts: true, backoff: true };
const BACKOFF_NAMES: OptionNames<ScheduleBackoff> = { type: true, delay: true };

export const DEFAULT_SCHEDULE_RETRY: ScheduleRetryPolicy = {
  attempts: 5,
  backoff: { type: 'exponential', delay: 30_000 },
};

export const SCHEDULE_RETRY_BOUNDS = {
  attempts: { min: 1, max: 20 },
  delay: { min: 1_000, max: 3_600_000 },
} as const;

/**
 * Fills in omitted fields.
 *
 * @throws ScheduleError `SCHEDULE_RETRY_POLICY_INVALID` for an unknown field or a value out of bounds.
 */
export function resolveScheduleRetry(
  retry: ScheduleRetry = {},
  defaults: ScheduleRetryPolicy = DEFAULT_SCHEDULE_RETRY,
): ScheduleRetryPolicy {
  assertObject('retry', retry, RETRY_NAMES);
  const { attempts = defaults.attempts, backoff = {} } = retry;
  assertObject('retry.backoff', backoff, BACKOFF_NAMES);
  const { type = defaults.backoff.type, delay = defaults.backoff.delay } = backoff;
  assertWithin('retry.attempts', attempts, SCHEDULE_RETRY_BOUNDS.attempts);
  if (type !== 'fixed' && type !== 'exponential')
    throw invalid(`retry.backoff.type must be 'fixed' or 'exponential', got ${String(type)}`);
  assertWithin('retry.backoff.delay', delay, SCHEDULE_RETRY_BOUNDS.delay, 'whole milliseconds ');
  return { attempts, backoff: { type, delay } };
}

/** Converts the policy to the form that is stored with the row. */
export function toRowRetry({ attempts, backoff }: ScheduleRetryPolicy): RetryOptions {
  return { maxAttempts: attempts, backoff: { type: backoff.type, delayMs: backoff.delay } };
}

function assertObject(name: string, value: unknown, names: Readonly<Record<string, true>>): void {
  if (typeof value !== 'object' || value === null) throw invalid(`${name} must be an object`);
  const problem = unknownOption(value, names);
  if (problem) throw invalid(`${name}: ${problem}`);
}

function assertWithin(
  name: string,
  value: unknown,
  { min, max }: { readonly min: number; readonly max: number },
  unit = 'a whole number ',
): void {
  if (Number.isInteger(value) && Number(value) >= min && Number(value) <= max) return;
  throw invalid(`${name} must be ${unit}from ${min} to ${max}, got ${String(value)}`);
}

function invalid(problem: string): ScheduleError {
  return new ScheduleError('SCHEDULE_RETRY_POLICY_INVALID', problem);
}
