import { InvalidArgumentError } from 'commander';

/** The largest that a database takes for a limit. */
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

/** `90s`, `1.5h`, `7d` in milliseconds. */
export function parseDurationMs(text: string): number {
  const [, number = '', unit = ''] = /^(\d+(?:\.\d+)?)(ms|[smhdw])$/.exec(text) ?? [];
  const durationMs = Number(number) * (UNIT_MS[unit] ?? Number.NaN);
  if (durationMs <= MAX_DURATION_MS) return durationMs;
  throw new InvalidArgumentError(
    'It must be a number with a unit, at most 100 years: 500ms, 90s, 15m, 12h, 7d, 4w.',
  );
}

/** Without a zone, a time would mean something else on every machine: only a date may stand alone, and is UTC. */
export function parseTime(text: string): Date {
  const isComplete = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d))?$/.test(text);
  const time = new Date(isComplete ? text : Number.NaN);
  if (!Number.isNaN(time.getTime())) return time;
  throw new InvalidArgumentError(
    'It must be a date or a time with its zone: 2026-01-31, 2026-01-31T12:00:00Z.',
  );
}
