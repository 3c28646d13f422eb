import { seededRandom } from '@postcommit/store-memory';
import { describe, expect, test } from 'vitest';

function draw(seed: number, count: number): number[] {
  const random = seededRandom(seed);
  return Array.from({ length: count }, () => random());
}

describe('seededRandom', () => {
  test('returns the same numbers for the same seed, on every machine', () => {
    expect(draw(1, 3)).toEqual([0.6270739405881613, 0.002735721180215478, 0.5274470399599522]);
    expect(draw(1, 100)).toEqual(draw(1, 100));
  });

  test('returns other numbers for another seed', () => {
    expect(draw(1, 10)).not.toEqual(draw(2, 10));
  });

  test('stays in [0, 1) and spreads evenly', () => {
    const numbers = draw(42, 10_000);
    expect(numbers.every((number) => number >= 0 && number < 1)).toBe(true);
    const tenths = Array<number>(10).fill(0);
    for (const number of numbers)
      tenths[Math.floor(number * 10)] = (tenths[Math.floor(number * 10)] ?? 0) + 1;
    expect(Math.min(...tenths)).toBeGreaterThan(850);
    expect(Math.max(...tenths)).toBeLessThan(1_150);
  });
});
