import { CommandError } from '@postcommit/cli';
import { OutboxError, type OutboxRow } from '@postcommit/core';
import { describe, expect, it } from 'vitest';
import { ExitCode, exitCodeOf, failureLine, oneLine, stackLines } from '../src/command-error.js';
import { parseDurationMs, parseLimit, parseTime } from '../src/parse-options.js';
import { progressLine } from '../src/progress-line.js';
import { rowJson, rowLine, rowTable } from '../src/row-format.js';
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
  it('is printed as its message and causes only, in one line', () => {
    const driverError = Object.assign(new Error('broken\n  pipe\u0007'), {
      query: 'insert secret',
      parameters: ['secret'],
    });
    const line = failureLine(new Error('no luck', { cause: driverError }));
    expect(line).toBe('no luck: broken pipe\\u0007');
  });

  it('is masked too if it is only a string', () => {
    expect(oneLine("unknown option\n  '--url=postgres://a:hunter2@db'")).toBe(
      "unknown option '--url=postgres://***@db'",
    );
  });

  it('prints the stacks of itself and its causes, masked, without their properties', () => {
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

it.each<[string, (row: OutboxRow) => unknown]>([
  ['a line', (row) => rowLine(row)],
  ['JSON', (row) => rowJson(row)],
  ['a line of a table', (row) => rowTable([row], 400)],
])('a row as %s shows its error with secrets masked, whoever wrote it', (_, format) => {
  const at = new Date(0);
  const lastError = 'connect amqp://app:hunter2@mq, token=hunter2';
  const row = {
    id: 'a',
    topic: 't',
    payload: 1,
    createdAt: at,
    availableAt: at,
    attempts: 1,
    retakes: 0,
    retry: {},
  };
  const text = JSON.stringify(format({ ...row, lastError } as OutboxRow));
  expect(text).toContain('connect amqp://***@mq, token=***');
  expect(text).not.toContain('hunter2');
});

describe('a table', () => {
  it('aligns its columns, omits empty ones and lets the last one fill the line', () => {
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

  it('measures characters as a terminal does', () => {
    const rows = [
      ['東京', 'a'],
      ['e\u0301', 'b'],
    ];
    expect(formatTable(['id', 'error'], rows, 40)).toEqual(['ID    ERROR', '東京  a', 'e\u0301     b']);
  });

  it('never splits a character', () => {
    const [, line = ''] = formatTable(['error'], [['🦊'.repeat(20)]], 20);
    expect(line).toBe(`${'🦊'.repeat(9)}…`);
    expect(line.isWellFormed()).toBe(true);
  });
});

describe('the progress line', () => {
  const progress = { done: 25, pending: 75, failed: 3, dead: 1 };

  it('shows the progress', () => {
    expect(progressLine(progress, 80)).toBe(
      `[${'#'.repeat(10)}${'-'.repeat(30)}] 25% 25/100 failed=3 dead=1`,
    );
  });

  it.each([10, 20, 40, 41, 80, 200])('does not fill a terminal of %d columns', (columns) => {
    expect(progressLine(progress, columns).length).toBeLessThan(columns);
  });

  it('is complete if nothing is left, or nothing was there', () => {
    expect(progressLine({ ...progress, pending: 0 }, 80)).toContain('100% 25/25');
    expect(progressLine({ done: 0, pending: 0, failed: 0, dead: 0 }, 80)).toContain('100% 0/0');
  });
});
