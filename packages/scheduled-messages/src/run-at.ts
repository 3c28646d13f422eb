import { OutboxError } from '@postcommit/core';

const WALL_CLOCK = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?$/;
const DAY_MS = 86_400_000;

/** When a message is due, and the time zone it was given in. */
export interface RunAt {
  readonly runAt: Date;
  readonly timezone: string;
}

/**
 * Reads `runAt`: a `Date` is an instant; a string is a wall-clock time in `timezone`.
 *
 * When the clocks go back, a time that occurs twice means the first one. When they go forward, a skipped time moves
 * forward by the length of the gap (02:30 becomes 03:30). Calendars do the same, and so does Temporal by default.
 *
 * @throws OutboxError `INVALID_ENTRY`.
 */
export function resolveRunAt(runAt: unknown, timezone: unknown): RunAt {
  const zone = zoneOf(timezone);
  if (typeof runAt === 'string') return { runAt: instantOf(runAt, zone), timezone: zone?.name ?? 'UTC' };
  if (!(runAt instanceof Date) || Number.isNaN(runAt.getTime()))
    throw invalid(
      `runAt must be a valid Date, or a wall-clock time such as '2026-03-29T09:30', got ${String(runAt)}`,
    );
  return { runAt: new Date(runAt), timezone: zone?.name ?? 'UTC' };
}

interface Zone {
  readonly name: string;
  /** The offset from UTC at an instant. */
  offsetMs(instantMs: number): number;
}

function instantOf(wallClock: string, zone: Zone | undefined): Date {
  const wallMs = wallClockMs(wallClock);
  if (!zone)
    throw invalid(`runAt '${wallClock}' is a wall-clock time and needs a timezone such as 'Europe/Berlin'`);
  // A day before and after are the offsets on both sides of a transition; without one they are equal.
  const beforeMs = zone.offsetMs(wallMs - DAY_MS);
  const afterMs = zone.offsetMs(wallMs + DAY_MS);
  const real = [wallMs - beforeMs, wallMs - afterMs].filter((ms) => ms + zone.offsetMs(ms) === wallMs);
  return new Date(real.length > 0 ? Math.min(...real) : wallMs - beforeMs);
}

/** The wall-clock time read as UTC. */
function wallClockMs(text: string): number {
  if (!WALL_CLOCK.test(text))
    throw invalid(
      `runAt '${text.slice(0, 80)}' is not a wall-clock time such as '2026-03-29T09:30'; pass a Date for an instant`,
    );
  const full =
    text.length === 16 ? `${text}:00.000` : `${text}${text.length === 19 ? '.' : ''}`.padEnd(23, '0');
  const date = new Date(`${full}Z`);
  // A date that does not exist, such as 30 February, would silently become another day.
  if (Number.isNaN(date.getTime()) || date.toISOString() !== `${full}Z`)
    throw invalid(`runAt '${text}' does not exist in the calendar`);
  return date.getTime();
}

function zoneOf(timezone: unknown): Zone | undefined {
  if (timezone === undefined) return undefined;
  const format = formatIn(timezone);
  const offsetMs = (instantMs: number): number => {
    const name = format.formatToParts(instantMs).find(({ type }) => type === 'timeZoneName')?.value ?? '';
    const [, sign, hours, minutes, seconds] = /^GMT([+-])(\d\d):(\d\d)(?::(\d\d))?$/.exec(name) ?? [];
    const ms = ((Number(hours ?? 0) * 60 + Number(minutes ?? 0)) * 60 + Number(seconds ?? 0)) * 1_000;
    return sign === '-' ? -ms : ms;
  };
  return { name: String(timezone), offsetMs };
}

/** Cached: creating a format takes a good part of a millisecond, and most applications use a handful of zones. */
const formats = new Map<string, Intl.DateTimeFormat>();
const MAX_FORMATS = 100;

function formatIn(timezone: unknown): Intl.DateTimeFormat {
  if (typeof timezone !== 'string') throw notAZone(timezone);
  const known = formats.get(timezone);
  if (known) return known;
  try {
    const made = new Intl.DateTimeFormat('en-US', { timeZone: timezone, timeZoneName: 'longOffset' });
    // Names may come from users, so bound the memory.
    if (formats.size >= MAX_FORMATS) formats.clear();
    formats.set(timezone, made);
    return made;
  } catch (cause) {
    throw notAZone(timezone, { cause });
  }
}

function notAZone(timezone: unknown, options?: ErrorOptions): OutboxError {
  const problem = `timezone must be an IANA name such as 'Europe/Berlin', got ${String(timezone)}`;
  return invalid(problem, options);
}

function invalid(problem: string, options?: ErrorOptions): OutboxError {
  return new OutboxError('INVALID_ENTRY', `schedule: ${problem}`, options);
}
