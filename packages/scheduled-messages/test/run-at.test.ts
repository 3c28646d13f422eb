import { describe, expect, test } from 'vitest';
import { resolveRunAt } from '../src/run-at.js';

const instant = (runAt: unknown, timezone?: unknown): string =>
  resolveRunAt(runAt, timezone).runAt.toISOString();
const refusal = (text: string): unknown =>
  expect.objectContaining({ code: 'INVALID_ENTRY', message: expect.stringContaining(text) });

describe('a Date', () => {
  test('is the same instant, whatever the time zone', () => {
    expect(instant(new Date('2026-05-01T10:00:00Z'), 'Asia/Tokyo')).toBe('2026-05-01T10:00:00.000Z');
  });

  test('keeps its time zone, which defaults to UTC', () => {
    expect(resolveRunAt(new Date(0), 'Asia/Tokyo').timezone).toBe('Asia/Tokyo');
    expect(resolveRunAt(new Date(0), undefined).timezone).toBe('UTC');
  });

  test('that is invalid is refused', () => {
    expect(() => resolveRunAt(new Date('x'), 'UTC')).toThrow(refusal('valid Date'));
    expect(() => resolveRunAt(5, 'UTC')).toThrow(refusal('valid Date'));
    expect(() => resolveRunAt(undefined, 'UTC')).toThrow(refusal('valid Date'));
  });

  test('is copied: a later change by the caller has no effect', () => {
    const date = new Date('2026-05-01T10:00:00Z');
    const { runAt } = resolveRunAt(date, 'UTC');
    date.setTime(0);
    expect(runAt.toISOString()).toBe('2026-05-01T10:00:00.000Z');
  });
});

describe('a wall-clock time', () => {
  test.each([
    ['2026-01-15T09:30', 'Europe/Berlin', '2026-01-15T08:30:00.000Z'],
    ['2026-07-15T09:30', 'Europe/Berlin', '2026-07-15T07:30:00.000Z'],
    ['2026-07-15T09:30:45', 'America/New_York', '2026-07-15T13:30:45.000Z'],
    ['2026-07-15T09:30:45.5', 'Asia/Kolkata', '2026-07-15T04:00:45.500Z'],
    ['2026-07-15T09:30:45.678', 'Pacific/Chatham', '2026-07-14T20:45:45.678Z'],
    ['2026-02-28T23:59', 'UTC', '2026-02-28T23:59:00.000Z'],
    ['2028-02-29T00:00', 'Pacific/Kiritimati', '2028-02-28T10:00:00.000Z'],
  ])('%s in %s is %s', (wall, zone, expected) => {
    expect(instant(wall, zone)).toBe(expected);
  });

  test.each([
    ['the last minute before', '2026-03-29T01:59', 'Europe/Berlin', '2026-03-29T00:59:00.000Z'],
    [
      'a time that is skipped: an hour later',
      '2026-03-29T02:30',
      'Europe/Berlin',
      '2026-03-29T01:30:00.000Z',
    ],
    ['the first skipped minute', '2026-03-29T02:00', 'Europe/Berlin', '2026-03-29T01:00:00.000Z'],
    ['the first minute after', '2026-03-29T03:00', 'Europe/Berlin', '2026-03-29T01:00:00.000Z'],
    ['a gap in New York', '2026-03-08T02:30', 'America/New_York', '2026-03-08T07:30:00.000Z'],
    ['a gap of half an hour', '2026-10-04T02:15', 'Australia/Lord_Howe', '2026-10-03T15:45:00.000Z'],
    ['a gap of a whole day', '2011-12-30T12:00', 'Pacific/Apia', '2011-12-30T22:00:00.000Z'],
    ['the day before that gap', '2011-12-29T23:30', 'Pacific/Apia', '2011-12-30T09:30:00.000Z'],
    ['the day after that gap', '2011-12-31T00:30', 'Pacific/Apia', '2011-12-30T10:30:00.000Z'],
  ])('where clocks go forward: %s', (_title, wall, zone, expected) => {
    expect(instant(wall, zone)).toBe(expected);
  });

  test.each([
    ['the last minute that comes once', '2026-10-25T01:59', 'Europe/Berlin', '2026-10-24T23:59:00.000Z'],
    ['a time that comes twice: the first', '2026-10-25T02:30', 'Europe/Berlin', '2026-10-25T00:30:00.000Z'],
    [
      'the first minute that comes once again',
      '2026-10-25T03:00',
      'Europe/Berlin',
      '2026-10-25T02:00:00.000Z',
    ],
    ['in New York', '2026-11-01T01:30', 'America/New_York', '2026-11-01T05:30:00.000Z'],
    ['half an hour twice', '2026-04-05T01:45', 'Australia/Lord_Howe', '2026-04-04T14:45:00.000Z'],
  ])('where clocks go back: %s', (_title, wall, zone, expected) => {
    expect(instant(wall, zone)).toBe(expected);
  });

  test('every half hour of a year reads back as written, or was skipped', () => {
    const read = new Intl.DateTimeFormat('sv-SE', {
      timeZone: 'Europe/Berlin',
      dateStyle: 'short',
      timeStyle: 'short',
    });
    const moved: string[] = [];
    for (let ms = Date.UTC(2026, 0, 1); ms < Date.UTC(2027, 0, 1); ms += 1_800_000) {
      const wall = new Date(ms).toISOString().slice(0, 16);
      const readBack = read.format(resolveRunAt(wall, 'Europe/Berlin').runAt).replace(' ', 'T');
      if (readBack !== wall) moved.push(`${wall} -> ${readBack}`);
    }
    expect(moved).toEqual(['2026-03-29T02:00 -> 2026-03-29T03:00', '2026-03-29T02:30 -> 2026-03-29T03:30']);
  });

  test.each([
    '2026-02-30T10:00',
    '2026-13-01T10:00',
    '2026-01-01T24:00',
    '2026-01-01T10:60',
    '2025-02-29T00:00',
  ])('%s is not in the calendar', (wall) => {
    expect(() => resolveRunAt(wall, 'UTC')).toThrow(refusal('calendar'));
  });

  test.each(['2026-01-01', '2026-01-01T10', '2026-01-01T10:00Z', '2026-01-01T10:00+02:00', 'tomorrow', ''])(
    '%j is not one; an instant is a Date',
    (text) => {
      expect(() => resolveRunAt(text, 'UTC')).toThrow(refusal('pass a Date for an instant'));
    },
  );

  test('needs its time zone, because a guess would be hours off', () => {
    expect(() => resolveRunAt('2026-01-01T10:00', undefined)).toThrow(refusal('timezone'));
  });
});

test.each(['Mars/Olympus', '', 7, null])('%j is not a time zone, even for a Date', (zone) => {
  expect(() => resolveRunAt(new Date(), zone)).toThrow(refusal('IANA'));
});
