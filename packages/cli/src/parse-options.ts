import type { BackoffOptions } from '@postcommit/core';
import { InvalidArgumentError } from 'commander';

/** The largest limit that every database accepts. */
const MAX_LIMIT = 2 ** 31 - 1;
const MAX_DURATION_MS = 100 * 365 * 86_400_000;

const UNIT_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 7 * 86_400_000,
};

export function parseLimit(text: string): number {
  const limit = /^\d{1,10}$/.test(text) ? Number(text) : 0;
  if (limit >= 1 && limit <= MAX_LIMIT) return limit;
  throw new InvalidArgumentError(`It must be a whole number from 1 to ${MAX_LIMIT}.`);
}

/** Parses `90s`, `1.5h` or `7d` into milliseconds. */
export function parseDurationMs(text: string): number {
  const durationMs = durationMsOf(text);
  if (durationMs !== undefined) return durationMs;
  throw new InvalidArgumentError(
    'It must be a number with a unit, at most 100 years: 500ms, 90s, 15m, 12h, 7d, 4w.',
  );
}

function durationMsOf(text: string): number | undefined {
  const [, number = '', unit = ''] = /^(\d+(?:\.\d+)?)(ms|[smhdw])$/.exec(text) ?? [];
  const durationMs = Number(number) * (UNIT_MS[unit] ?? Number.NaN);
  return durationMs <= MAX_DURATION_MS ? durationMs : undefined;
}

/** Requires a time zone, so that a time means the same on every machine. A date alone is UTC. */
export function parseTime(text: string): Date {
  const isComplete = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d))?$/.test(text);
  const time = new Date(isComplete ? text : Number.NaN);
  if (!Number.isNaN(time.getTime())) return time;
  throw new InvalidArgumentError(
    'It must be a date or a time with its zone: 2026-01-31, 2026-01-31T12:00:00Z.',
  );
}

/**
 * Parses `fixed:5s`, or `exponential:1s` with an optional maximum delay: `exponential:1s:1h`. Any other word is the name
 * of a strategy.
 */
export function parseBackoff(text: string): BackoffOptions {
  if (/^[\w.-]{1,100}$/.test(text) && text !== 'fixed' && text !== 'exponential') return { type: text };
  const [type, delay = '', max, ...rest] = text.split(':');
  const delayMs = durationMsOf(delay);
  const maxDelayMs = max === undefined ? undefined : (durationMsOf(max) ?? Number.NaN);
  const isValid = rest.length === 0 && (maxDelayMs === undefined || maxDelayMs >= (delayMs ?? 0));
  if ((type === 'fixed' || type === 'exponential') && delayMs !== undefined && isValid) {
    return { type, delayMs, ...(maxDelayMs !== undefined && { maxDelayMs }) };
  }
  throw new InvalidArgumentError(
    'It must be a type, a delay and optionally a maximum delay (fixed:5s, exponential:1s, exponential:1s:1h), or the name of a backoff strategy.',
  );
}
