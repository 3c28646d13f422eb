import { OutboxError } from '@postcommit/core';

const WALL_CLOCK = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?$/;
const DAY_MS = 86_400_000;

/** When a message is due, and the zone it was said in. */
export interface RunAt {
  readonly runAt: Date;
  readonly timezone: string;
}

/**
 * Reads `runAt`: a `Date` is an instant as it is; a text is a wall-clock time in `timezone`.
 *
 * Where the clocks go back, a time that comes twice means the first; where they go forward, a time that never comes
 * means as much later as the clocks skip (02:30 becomes 03:30). That is what calendars do, and Temporal by default.
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
  /** How far its clocks are ahead of UTC at an instant. */
  offsetMs(instantMs: number): number;
}

function instantOf(wallClock: string, zone: Zone | undefined): Date {
  const wallMs = wallClockMs(wallClock);
  if (!zone)
    throw invalid(
      `runAt '${wallClock}' is a wall-clock time: say whose by timezone, 'Europe/Berlin' for example`,
    );
  // A day away no transition stands between the two: the offsets before and after, or one and the same.
  const beforeMs = zone.offsetMs(wallMs - DAY_MS);
  const afterMs = zone.offsetMs(wallMs + DAY_MS);
  const real = [wallMs - beforeMs, wallMs - afterMs].filter((ms) => ms + zone.offsetMs(ms) === wallMs);
  return new Date(real.length > 0 ? Math.min(...real) : wallMs - beforeMs);
}

/** The time as if it were one in UTC. */
function wallClockMs(text: string): number {
  if (!WALL_CLOCK.test(text))
    throw invalid(
      `runAt '${text.slice(0, 80)}' is not a wall-clock time such as '2026-03-29T09:30'; pass a Date for an instant`,
    );
  const full =
    text.length === 16 ? `${text}:00.000` : `${text}${text.length === 19 ? '.' : ''}`.padEnd(23, '0');
  const date = new Date(`${full}Z`);
  // What no calendar has, the 30th of February for one, would silently become another day.
  if (Number.isNaN(date.getTime()) || date.toISOString() !== `${full}Z`)
    throw invalid(`runAt '${text}' is not a time that a calendar has`);
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

/** Making one takes a good part of a millisecond, for every schedule; most applications know a handful of zones. */
const formats = new Map<string, Intl.DateTimeFormat>();
const MOST_FORMATS = 100;

function formatIn(timezone: unknown): Intl.DateTimeFormat {
  if (typeof timezone !== 'string') throw notAZone(timezone);
  const known = formats.get(timezone);
  if (known) return known;
  try {
    const made = new Intl.DateTimeFormat('en-US', { timeZone: timezone, timeZoneName: 'longOffset' });
    // Names may come from users: they must not fill the memory.
    if (formats.size >= MOST_FORMATS) formats.clear();
    formats.set(timezone, made);
    return made;
  } catch (cause) {
    throw notAZone(timezone, { cause });
  }
}

function notAZone(timezone: unknown, options?: ErrorOptions): OutboxError {
  const problem = `timezone must be the IANA name of one, 'Europe/Berlin' for example, got ${String(timezone)}`;
  return invalid(problem, options);
}

function invalid(problem: string, options?: ErrorOptions): OutboxError {
  return new OutboxError('INVALID_ENTRY', `schedule: ${problem}`, options);
}
