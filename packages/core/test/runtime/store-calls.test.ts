import { beforeEach, describe, expect, test } from 'vitest';
import { CallLimits } from '../../src/runtime/store-calls.js';
import { CountingClock } from '../outbox-fixture.js';

let clock: CountingClock;
let limits: CallLimits;

beforeEach(() => {
  clock = new CountingClock();
  limits = new CallLimits({ firstMs: 100, longestMs: 1_000, clock });
});

async function exceed(kind: string, times: number): Promise<void> {
  for (let left = times; left > 0; left--) {
    await limits.watch(kind, Promise.reject(new Error('late')), () => true).catch(() => {});
  }
}

async function answerAfter(ms: number): Promise<void> {
  const watching = limits.watch('claim', clock.wait(ms), () => true);
  await clock.advance(ms);
  await watching;
}

describe('CallLimits', () => {
  test('tries once more with the same limit, then doubles it up to the longest', async () => {
    const seen: number[] = [];
    for (let tries = 0; tries < 7; tries++) {
      seen.push(limits.limitMs('claim'));
      await exceed('claim', 1);
    }
    expect(seen).toEqual([100, 100, 200, 400, 800, 1_000, 1_000]);
  });

  test('keeps the limit while answers need it, and goes back after a quick one', async () => {
    await exceed('claim', 3);
    await answerAfter(350);
    expect(limits.limitMs('claim')).toBe(400);
    await answerAfter(99);
    expect(limits.limitMs('claim')).toBe(100);
  });

  test('are counted for each kind', async () => {
    await exceed('claim', 3);
    expect(limits.limitMs('settle')).toBe(100);
  });

  test('are not changed by other errors', async () => {
    const failing = limits.watch('claim', Promise.reject(new Error('refused')), () => false);
    await expect(failing).rejects.toThrow('refused');
    await exceed('claim', 1);
    expect(limits.limitMs('claim')).toBe(100);
  });
});
