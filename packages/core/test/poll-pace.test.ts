import { describe, expect, test } from 'vitest';
import { PollPace } from '../src/poll-pace.js';

function waits(pace: PollPace, count: number): number[] {
  return Array.from({ length: count }, () => pace.afterPoll(false));
}

describe('PollPace', () => {
  test('doubles from 20 ms up to the poll interval while nothing is found', () => {
    expect(waits(new PollPace(1_000), 8)).toEqual([20, 40, 80, 160, 320, 640, 1_000, 1_000]);
  });

  test('never waits longer than the poll interval, not even in a burst', () => {
    const pace = new PollPace(7);
    expect(waits(pace, 2)).toEqual([7, 7]);
    pace.hint();
    expect(waits(pace, 10)).toEqual([1, 2, 5, 5, 5, 5, 5, 7, 7, 7]);
  });

  test('looks again at once after rows, and then begins with the shortest wait', () => {
    const pace = new PollPace(1_000);
    waits(pace, 5);
    expect(pace.afterPoll(true)).toBe(0);
    expect(pace.afterPoll(true)).toBe(0);
    expect(waits(pace, 2)).toEqual([20, 40]);
  });

  test('a hint begins a burst of polls, and what follows it begins with the shortest wait', () => {
    const pace = new PollPace(1_000);
    waits(pace, 7);
    expect(pace.hint()).toBe(true);
    expect(waits(pace, 13)).toEqual([1, 2, 5, 5, 5, 5, 5, 10, 50, 100, 100, 20, 40]);
  });

  test('a hint in the middle of a burst begins it anew', () => {
    const pace = new PollPace(1_000);
    pace.hint();
    waits(pace, 3);
    expect(pace.hint()).toBe(true);
    expect(waits(pace, 3)).toEqual([1, 2, 5]);
  });

  test('rows in the middle of a burst do not end it: more may be about to commit', () => {
    const pace = new PollPace(1_000);
    pace.hint();
    expect(waits(pace, 6)).toEqual([1, 2, 5, 5, 5, 5]);
    expect(pace.afterPoll(true)).toBe(0);
    expect(waits(pace, 3)).toEqual([5, 10, 50]);
  });

  test('a hint during the shortest wait, or while rows come, does not shorten it', () => {
    const pace = new PollPace(1_000);
    pace.hint();
    waits(pace, 1);
    expect(pace.hint()).toBe(false);
    pace.afterPoll(true);
    expect(pace.hint()).toBe(false);
  });

  test('hints that keep coming while nothing is found do not make the waits shorter', () => {
    const pace = new PollPace(1_000);
    waits(pace, 7);
    const hinted = Array.from({ length: 4 }, () => {
      pace.hint();
      return pace.afterPoll(false);
    });
    expect(hinted).toEqual([1, 2, 2, 2]);
  });

  test('a hint before the first poll asks for nothing: that one comes anyway', () => {
    expect(new PollPace(1_000).hint()).toBe(false);
  });
});
