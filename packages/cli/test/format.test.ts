import { CommandError, ExitCode } from '@postcommit/cli';
import { OutboxError } from '@postcommit/core';
import { describe, expect, it } from 'vitest';
import { exitCodeOf, failureLine, stackLines } from '../src/command-error.js';
import { parseDurationMs, parseLimit, parseTime } from '../src/parse-options.js';
import { progressLine } from '../src/progress-line.js';
import { formatTable } from '../src/table.js';

describe('a duration', () => {
  it.each([
    ['0s', 0],
    ['500ms', 500],
    ['90s', 90_000],
    ['15m', 900_000],
    ['1.5h', 5_400_000],
    ['7d', 604_800_000],
    ['4w', 2_419_200_000],
  ])('%s is %d ms', (text, ms) => {
    expect(parseDurationMs(text)).toBe(ms);
  });

  it.each([
    '',
    '7',
    'd',
    '-1d',
    '7 d',
    '7D',
    '1e3s',
    '7days',
    '1h30m',
    'Infinityd',
    '9999999w',
    'constructor',
  ])('%j is refused', (text) => {
    expect(() => parseDurationMs(text)).toThrow('It must be a number with a unit');
  });
});

describe('a limit', () => {
  it.each(['1', '20', '2147483647'])('may be %s', (text) => {
    expect(parseLimit(text)).toBe(Number(text));
  });

  it.each(['0', '-1', '1.5', '', ' 1', '1e3', '0x10', '2147483648', '99999999999', 'ten'])(
    '%j is refused',
    (text) => {
      expect(() => parseLimit(text)).toThrow('It must be a whole number from 1');
    },
  );
});

describe('a time', () => {
  it.each([
    ['2026-01-31', '2026-01-31T00:00:00.000Z'],
    ['2026-01-31T12:00Z', '2026-01-31T12:00:00.000Z'],
    ['2026-01-31T12:00:00.5+02:00', '2026-01-31T10:00:00.500Z'],
  ])('%s is %s', (text, iso) => {
    expect(parseTime(text).toISOString()).toBe(iso);
  });

  it.each(['', 'yesterday', '2026', '2026-01-31T12:00', '2026-13-01', '1700000000', '31.1.2026'])(
    '%j is refused',
    (text) => {
      expect(() => parseTime(text)).toThrow('with its zone');
    },
  );
});

describe('an error', () => {
  it('is told by its message and causes only, in one line', () => {
    const driverError = Object.assign(new Error('broken\n  pipe\u0007'), {
      query: 'insert secret',
      parameters: ['secret'],
    });
    const line = failureLine(new Error('no luck', { cause: driverError }));
    expect(line).toBe('no luck: broken pipe\\u0007');
  });

  it('shows where it and its causes were thrown, masked, without what hangs on them', () => {
    const cause = Object.assign(new Error('postgres://a:secret@db'), { parameters: ['secret'] });
    const lines = stackLines(new Error('outer', { cause }));
    expect(lines.filter((line) => line.startsWith('Error: '))).toEqual([
      'Error: outer',
      'Error: postgres://***@db',
    ]);
    expect(lines.join('\n')).not.toContain('secret');
  });

  it('decides the exit code', () => {
    expect(exitCodeOf(new Error('any'))).toBe(ExitCode.failed);
    expect(exitCodeOf('thrown text')).toBe(ExitCode.failed);
    expect(exitCodeOf(new OutboxError('ROW_NOT_FOUND', 'no'))).toBe(ExitCode.failed);
    expect(exitCodeOf(new OutboxError('INVALID_ARGUMENT', 'no'))).toBe(ExitCode.usage);
    expect(exitCodeOf(new CommandError('no', 7))).toBe(7);
  });
});

describe('a table', () => {
  it('aligns its columns, leaves out empty ones and gives the last the space that is left', () => {
    const rows = [
      ['a', '', 'short'],
      ['longer', '', 'x'.repeat(100)],
    ];
    expect(formatTable(['id', 'key', 'error'], rows, 40)).toEqual([
      'ID      ERROR',
      'a       short',
      `longer  ${'x'.repeat(31)}…`,
    ]);
  });

  it('counts characters as a terminal does', () => {
    const rows = [
      ['東京', 'a'],
      ['e\u0301', 'b'],
    ];
    expect(formatTable(['id', 'error'], rows, 40)).toEqual(['ID    ERROR', '東京  a', 'e\u0301     b']);
  });

  it('never cuts a character in two', () => {
    const [, line = ''] = formatTable(['error'], [['🦊'.repeat(20)]], 20);
    expect(line).toBe(`${'🦊'.repeat(9)}…`);
    expect(line.isWellFormed()).toBe(true);
  });
});

describe('the progress line', () => {
  const progress = { done: 25, pending: 75, failed: 3, dead: 1 };

  it('shows how much is done', () => {
    expect(progressLine(progress, 80)).toBe(
      `[${'#'.repeat(10)}${'-'.repeat(30)}] 25% 25/100 failed=3 dead=1`,
    );
  });

  it.each([10, 20, 40, 41, 80, 200])('does not fill a terminal of %d columns', (columns) => {
    expect(progressLine(progress, columns).length).toBeLessThan(columns);
  });

  it('is complete when nothing is left, and when there was nothing', () => {
    expect(progressLine({ ...progress, pending: 0 }, 80)).toContain('100% 25/25');
    expect(progressLine({ done: 0, pending: 0, failed: 0, dead: 0 }, 80)).toContain('100% 0/0');
  });
});
