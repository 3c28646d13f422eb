import { describe, expect, it } from 'vitest';
import { BadOption, chosen, parseOptions } from '../src/options.js';

describe('flags', () => {
  it('have defaults for the full run', () => {
    expect(parseOptions([])).toMatchObject({ cases: [], subjects: [], rounds: 3, scale: 1, short: false });
  });

  it('accept words separated by commas', () => {
    expect(parseOptions(['--case', 'drain, Latency']).cases).toEqual(['drain', 'latency']);
  });

  it('ignore the dashes that pnpm passes on', () => {
    expect(parseOptions(['--', '--rounds', '2']).rounds).toBe(2);
  });

  it.each([
    [['--rounds', '0'], '--rounds'],
    [['--rounds', '1.5'], '--rounds'],
    [['--scale', '0'], '--scale'],
    [['--scale', '11'], '--scale'],
    [['--scale', 'big'], '--scale'],
    [['--wal-level', 'minimal'], '--wal-level'],
    [['--bogus'], '--bogus'],
    [['--from', 'file'], '--page'],
    [['--short', '--page'], '--page'],
  ])('%j is rejected, by name', (args, name) => {
    expect(() => parseOptions(args)).toThrow(BadOption);
    expect(() => parseOptions(args)).toThrow(name);
  });
});

describe('a choice', () => {
  const all = [{ id: 'drain' }, { id: 'latency' }];

  it('is everything by default', () => {
    expect(chosen('--case', all, [])).toEqual(all);
  });

  it('is what contains one of the words', () => {
    expect(chosen('--case', all, ['lat'])).toEqual([{ id: 'latency' }]);
  });

  it('names the choices if a word matches nothing', () => {
    expect(() => chosen('--case', all, ['drain', 'nothing'])).toThrow(/nothing.*drain, latency/);
  });
});
