import { seededRandom } from '@postcommit/store-memory';
import { describe, expect, test } from 'vitest';
import { createUuidv7 } from '../../src/enqueue/uuidv7.js';

const UUIDV7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

function firstDescent(ids: readonly string[]): string | undefined {
  return ids.find((id, index) => index > 0 && id <= (ids[index - 1] ?? ''));
}

describe('createUuidv7', () => {
  test('generates version 7 UUIDs that begin with the time', () => {
    const id = createUuidv7({ now: () => 0x0123_4567_89ab })();
    expect(id).toMatch(UUIDV7);
    expect(id.slice(0, 13)).toBe('01234567-89ab');
  });

  test('100,000 ids of one process increase without a repetition', () => {
    const next = createUuidv7();
    const ids = Array.from({ length: 100_000 }, next);
    expect(ids.filter((id) => !UUIDV7.test(id))).toEqual([]);
    expect(firstDescent(ids)).toBeUndefined();
    expect(new Set(ids).size).toBe(100_000);
  });

  test('ids increase while the clock stands still, and stay close to it', () => {
    const next = createUuidv7({ now: () => 1_000_000 });
    const ids = Array.from({ length: 20_000 }, next);
    expect(firstDescent(ids)).toBeUndefined();
    expect(ids.every((id) => UUIDV7.test(id))).toBe(true);
    const lastMs = Number.parseInt(ids.at(-1)?.replaceAll('-', '').slice(0, 12) ?? '', 16);
    expect(lastMs - 1_000_000).toBeLessThanOrEqual(5);
  });

  test('ids increase even if the clock goes back', () => {
    let now = 1_000_000;
    const next = createUuidv7({ now: () => now });
    const ids = Array.from({ length: 5_000 }, (_, index) => {
      now += index % 3 === 0 ? -50 : 20;
      return next();
    });
    expect(firstDescent(ids)).toBeUndefined();
  });

  test('the same seed and clock generate the same ids', () => {
    const generate = (seed: number): string[] =>
      Array.from({ length: 300 }, createUuidv7({ now: () => 5, random: seededRandom(seed) }));
    expect(generate(1)).toEqual(generate(1));
    expect(generate(1)).not.toEqual(generate(2));
    expect(generate(1).every((id) => UUIDV7.test(id))).toBe(true);
  });

  test('two processes generate different ids at the same instant', () => {
    const now = (): number => 5;
    const ids = [createUuidv7({ now }), createUuidv7({ now })].flatMap((next) =>
      Array.from({ length: 5_000 }, next),
    );
    expect(new Set(ids).size).toBe(10_000);
  });
});
