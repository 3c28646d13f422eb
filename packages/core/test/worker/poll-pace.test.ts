import { describe, expect, test } from 'vitest';
import { PollPace } from '../../src/worker/claim-pace.js';

function waits(pace: PollPace, count: number): number[] {
  return Array.from({ length: count }, () => pace.afterPoll('nothing'));
}

/** One that has not found anything for long. */
function pausing(): PollPace {
  const pace = new PollPace(1_000);
  waits(pace, 7);
  return pace;
}

describe('PollPace', () => {
  test('doubles from 20 ms up to the poll interval while nothing is found', () => {
    expect(waits(new PollPace(1_000), 8)).toEqual([20, 40, 80, 160, 320, 640, 1_000, 1_000]);
  });

  test('never waits longer than the poll interval, not even in a burst', () => {
    const pace = new PollPace(7);
    expect(waits(pace, 2)).toEqual([7, 7]);
    pace.hint('burst');
    expect(waits(pace, 13)).toEqual([1, 2, 3, 3, 3, 3, 3, 3, 3, 3, 7, 7, 7]);
  });

  test('polls again at once while there may be more', () => {
    const pace = pausing();
    expect(pace.afterPoll('more')).toBe(0);
    expect(pace.afterPoll('more')).toBe(0);
    expect(waits(pace, 2)).toEqual([20, 40]);
  });

  test('starts with the shortest delay once all due rows are claimed, however often that happens', () => {
    const pace = pausing();
    expect(pace.afterPoll('all')).toBe(20);
    expect(pace.afterPoll('all')).toBe(20);
    expect(waits(pace, 2)).toEqual([40, 80]);
  });

  test('a hint starts a burst of polls, and the delays after it start with the shortest', () => {
    const pace = pausing();
    expect(pace.hint('burst')).toBe(true);
    expect(waits(pace, 16)).toEqual([1, 2, 3, 3, 3, 3, 3, 3, 3, 3, 10, 50, 100, 100, 20, 40]);
  });

  test('a hint before COMMIT is followed by more polls without a pause', () => {
    const pace = pausing();
    expect(pace.hint('before-commit')).toBe(true);
    expect(waits(pace, 6)).toEqual([0, 0, 1, 2, 3, 3]);
  });

  test('which are skipped once rows have arrived', () => {
    const pace = pausing();
    pace.hint('before-commit');
    expect(pace.afterPoll('all')).toBe(2);
    expect(waits(pace, 2)).toEqual([3, 3]);
  });

  test('a hint in the middle of a burst restarts it', () => {
    const pace = pausing();
    pace.hint('burst');
    waits(pace, 3);
    expect(pace.hint('burst')).toBe(true);
    expect(waits(pace, 3)).toEqual([1, 2, 3]);
  });

  test('rows in the middle of a burst do not end it: more may be about to commit', () => {
    const pace = pausing();
    pace.hint('burst');
    expect(waits(pace, 6)).toEqual([1, 2, 3, 3, 3, 3]);
    expect(pace.afterPoll('more')).toBe(0);
    expect(pace.afterPoll('all')).toBe(3);
    expect(waits(pace, 5)).toEqual([3, 3, 3, 10, 50]);
  });

  test('a hint during the shortest delay, or while rows arrive, does not shorten it', () => {
    const pace = pausing();
    pace.hint('burst');
    waits(pace, 1);
    expect(pace.hint('burst')).toBe(false);
    pace.afterPoll('more');
    expect(pace.hint('burst')).toBe(false);
  });

  test.each([
    ['burst', [1, 2, 2, 2, 2]],
    ['before-commit', [0, 2, 2, 2, 2]],
  ] as const)(
    'repeated hints while nothing is found do not shorten the delays: %s ones',
    (time, expected) => {
      const pace = pausing();
      const hinted = Array.from({ length: 5 }, () => {
        pace.hint(time);
        return pace.afterPoll('nothing');
      });
      expect(hinted).toEqual(expected);
    },
  );

  test('a hint before the first poll has no effect: that poll comes anyway', () => {
    expect(new PollPace(1_000).hint('before-commit')).toBe(false);
  });

  test('the hint of a COMMIT is one poll, and one more if that finds nothing', () => {
    const pace = pausing();
    expect(pace.hint('after-commit')).toBe(true);
    expect(pace.afterPoll('all')).toBe(20);
    expect(pace.hint('after-commit')).toBe(true);
    expect(waits(pace, 4)).toEqual([1, 20, 40, 80]);
  });

  test('a COMMIT that is announced during a poll is looked for right after it, however many there are', () => {
    const pace = pausing();
    pace.hint('after-commit');
    for (let count = 0; count < 3; count++) expect(pace.hint('after-commit')).toBe(false);
    expect(pace.afterPoll('all')).toBe(1);
    expect(pace.afterPoll('all')).toBe(20);
  });

  test('which a poll that finds more does at once', () => {
    const pace = pausing();
    pace.hint('after-commit');
    pace.hint('after-commit');
    expect(pace.afterPoll('more')).toBe(0);
    expect(pace.afterPoll('all')).toBe(20);
  });

  test('while no batch makes progress, announced COMMITs do not shorten the delays', () => {
    const pace = pausing();
    pace.hint('after-commit');
    pace.hint('after-commit');
    pace.batchEnded({ madeProgress: false });
    pace.afterPoll('all');
    pace.hint('after-commit');
    expect(waits(pace, 2)).toEqual([20, 40]);
  });

  test('the hint of a COMMIT does not end a burst', () => {
    const pace = pausing();
    pace.hint('burst');
    expect(waits(pace, 3)).toEqual([1, 2, 3]);
    expect(pace.hint('after-commit')).toBe(true);
    expect(pace.afterPoll('all')).toBe(3);
  });
});
