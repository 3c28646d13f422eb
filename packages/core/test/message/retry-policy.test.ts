import { seededRandom } from '@postcommit/store-memory';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { BackoffOptions, DelayBackoff, Jitter, RetryOptions } from '../../src/message/retry-options.js';
import {
  assertBackoff,
  assertMaxAttempts,
  assertRetryOptions,
  backoffDelayMs,
  boundedDelayMs,
} from '../../src/message/retry-policy.js';
import { refusal } from '../outbox-fixture.js';

const DAY_MS = 86_400_000;
const ALMOST_ONE = 1 - Number.EPSILON / 2;

function delays(backoff: DelayBackoff, random = () => 0.5): number[] {
  return [1, 2, 3, 4, 5].map((attempts) => backoffDelayMs(backoff, attempts, random));
}

describe('backoffDelayMs without jitter', () => {
  test.each<[string, DelayBackoff, number[]]>([
    ['exponential doubles', { type: 'exponential', delayMs: 1_000 }, [1_000, 2_000, 4_000, 8_000, 16_000]],
    ['fixed stays', { type: 'fixed', delayMs: 1_000 }, [1_000, 1_000, 1_000, 1_000, 1_000]],
    [
      'a scheduled message waits 30 s, then 1, 2, 4 and 8 minutes',
      { type: 'exponential', delayMs: 30_000 },
      [30_000, 60_000, 120_000, 240_000, 480_000],
    ],
    [
      'the cap ends the growth',
      { type: 'exponential', delayMs: 1_000, maxDelayMs: 3_000 },
      [1_000, 2_000, 3_000, 3_000, 3_000],
    ],
    ['zero is due at once', { type: 'exponential', delayMs: 0 }, [0, 0, 0, 0, 0]],
    ['jitter none is no jitter', { type: 'fixed', delayMs: 7, jitter: 'none' }, [7, 7, 7, 7, 7]],
  ])('%s', (_name, backoff, expected) => {
    expect(delays(backoff)).toEqual(expected);
  });

  test('no delay is longer than a day unless a cap allows it', () => {
    expect(backoffDelayMs({ type: 'exponential', delayMs: 1_000 }, 40, Math.random)).toBe(DAY_MS);
    expect(
      backoffDelayMs({ type: 'exponential', delayMs: 1_000, maxDelayMs: 2 * DAY_MS }, 40, Math.random),
    ).toBe(2 * DAY_MS);
  });
});

describe('backoffDelayMs with jitter, base 1 s and cap 30 s', () => {
  const base: DelayBackoff = { type: 'exponential', delayMs: 1_000, maxDelayMs: 30_000 };
  const whole = [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000];

  test('full jitter ranges from 0 to the whole delay', () => {
    const full = { ...base, jitter: 'full' } as const;
    for (const [index, delayMs] of whole.entries()) {
      expect(backoffDelayMs(full, index + 1, () => 0)).toBe(0);
      expect(backoffDelayMs(full, index + 1, () => 0.25)).toBe(delayMs / 4);
      expect(backoffDelayMs(full, index + 1, () => ALMOST_ONE)).toBeCloseTo(delayMs, 6);
    }
  });

  test('equal jitter ranges from half to the whole delay', () => {
    const equal = { ...base, jitter: 'equal' } as const;
    for (const [index, delayMs] of whole.entries()) {
      expect(backoffDelayMs(equal, index + 1, () => 0)).toBe(delayMs / 2);
      expect(backoffDelayMs(equal, index + 1, () => 0.5)).toBe(delayMs * 0.75);
      expect(backoffDelayMs(equal, index + 1, () => ALMOST_ONE)).toBeCloseTo(delayMs, 6);
    }
  });

  test('decorrelated jitter stays at the base with the lowest random numbers', () => {
    const decorrelated = { ...base, jitter: 'decorrelated' } as const;
    for (const attempts of [1, 2, 10]) expect(backoffDelayMs(decorrelated, attempts, () => 0)).toBe(1_000);
  });

  test('decorrelated jitter triples up to the cap with the highest random numbers', () => {
    const decorrelated = { ...base, jitter: 'decorrelated' } as const;
    const highest = [1, 2, 3, 4, 5].map((attempts) =>
      backoffDelayMs(decorrelated, attempts, () => ALMOST_ONE),
    );
    expect(highest.map(Math.round)).toEqual([3_000, 9_000, 27_000, 30_000, 30_000]);
  });

  test('a decorrelated delay is between the base and three times the previous one', () => {
    const decorrelated = { ...base, jitter: 'decorrelated' } as const;
    fc.assert(
      fc.property(fc.nat(), fc.integer({ min: 1, max: 60 }), (seed, attempts) => {
        // The same seed draws the same chain, so the shorter chain is the beginning of the longer one.
        const before =
          attempts === 1 ? 1_000 : backoffDelayMs(decorrelated, attempts - 1, seededRandom(seed));
        const delayMs = backoffDelayMs(decorrelated, attempts, seededRandom(seed));
        expect(delayMs).toBeGreaterThanOrEqual(1_000);
        expect(delayMs).toBeLessThanOrEqual(Math.min(30_000, 3 * before));
      }),
    );
  });

  test('a seeded random source produces the same delays again', () => {
    const full = { ...base, jitter: 'full' } as const;
    expect(delays(full, seededRandom(7))).toEqual(delays(full, seededRandom(7)));
    expect(delays(full, seededRandom(7))).not.toEqual(delays(full, seededRandom(8)));
  });
});

describe('backoffDelayMs at the edges', () => {
  const backoffs = fc.record({
    type: fc.constantFrom('fixed' as const, 'exponential' as const),
    delayMs: fc.integer({ min: 0, max: DAY_MS }),
    jitter: fc.constantFrom<Jitter>('none', 'full', 'equal', 'decorrelated'),
  });

  test('every delay is finite, never negative and within the cap', () => {
    fc.assert(
      fc.property(backoffs, fc.integer({ min: 1, max: 1_000_000 }), fc.nat(), (backoff, attempts, seed) => {
        const delayMs = backoffDelayMs(backoff, attempts, seededRandom(seed));
        expect(delayMs).toBeGreaterThanOrEqual(0);
        expect(delayMs).toBeLessThanOrEqual(DAY_MS);
      }),
    );
  });

  test('a base of 0 stays 0, however often a row failed', () => {
    expect(backoffDelayMs({ type: 'exponential', delayMs: 0 }, 1_000_000, Math.random)).toBe(0);
  });

  test('a decorrelated delay after a million failures takes a bounded number of steps', () => {
    let draws = 0;
    const random = (): number => {
      draws += 1;
      return 0.5;
    };
    const backoff = { type: 'exponential', delayMs: 1_000, jitter: 'decorrelated' } as const;
    expect(backoffDelayMs(backoff, 1_000_000, random)).toBe(DAY_MS);
    expect(draws).toBeLessThanOrEqual(100);
  });
});

test('a bounded delay is whole, not negative and at most 366 days', () => {
  expect(boundedDelayMs(1.4)).toBe(1);
  expect(boundedDelayMs(1.5)).toBe(2);
  expect(boundedDelayMs(-5)).toBe(0);
  expect(boundedDelayMs(Number.POSITIVE_INFINITY)).toBe(366 * DAY_MS);
});

describe('an invalid policy is rejected', () => {
  test.each([0, -1, 1.5, Number.NaN, Number.NEGATIVE_INFINITY, 2 ** 31, '3', null])(
    'maxAttempts %s',
    (value) => {
      expect(() => assertMaxAttempts(value as number, 'here')).toThrow(
        refusal('INVALID_RETRY_POLICY', `here: maxAttempts must be a whole number from 1, got ${value}`),
      );
    },
  );

  test.each<[string, unknown, string]>([
    ['no object', 5, 'backoff of an entry must be plain data'],
    ['null', null, 'backoff of an entry must be plain data'],
    ['a function', () => 5, 'functions belong in the dispatcher'],
    ['no type', { delayMs: 1 }, "backoff.type must be 'fixed' or 'exponential', got undefined"],
    ['another type', { type: 'linear', delayMs: 1 }, 'got linear'],
    ['no delay', { type: 'fixed' }, 'backoff.delayMs must be 0 or more, got undefined'],
    ['a negative delay', { type: 'fixed', delayMs: -1 }, 'got -1'],
    ['a NaN delay', { type: 'fixed', delayMs: Number.NaN }, 'got NaN'],
    ['an endless delay', { type: 'fixed', delayMs: Number.POSITIVE_INFINITY }, 'got Infinity'],
    ['a delay as text', { type: 'fixed', delayMs: '5' }, 'backoff.delayMs must be 0 or more, got 5'],
    ['a cap below the delay', { type: 'fixed', delayMs: 5, maxDelayMs: 4 }, 'at least delayMs (5), got 4'],
    ['a NaN cap', { type: 'fixed', delayMs: 5, maxDelayMs: Number.NaN }, 'at least delayMs (5), got NaN'],
    ['another jitter', { type: 'fixed', delayMs: 5, jitter: 'some' }, 'backoff.jitter must be none, full'],
  ])('backoff: %s', (_name, backoff, message) => {
    expect(() => assertBackoff(backoff as BackoffOptions, 'here')).toThrow(
      refusal('INVALID_RETRY_POLICY', message),
    );
  });

  test.each<[string, unknown, string]>([
    ['no object', 'often', 'entry 3: retry must be an object'],
    ['null', null, 'entry 3: retry must be an object'],
    ['no attempt', { maxAttempts: 0 }, 'entry 3: maxAttempts'],
    ['endless attempts', { maxAttempts: Number.POSITIVE_INFINITY }, 'must be finite; leave it out'],
    ['a bad backoff', { backoff: { type: 'fixed', delayMs: -1 } }, 'entry 3: backoff.delayMs'],
  ])('retry: %s', (_name, retry, message) => {
    expect(() => assertRetryOptions(retry as RetryOptions, 'entry 3')).toThrow(
      refusal('INVALID_RETRY_POLICY', message),
    );
  });

  test('a valid one is not', () => {
    expect(() => assertMaxAttempts(1, 'here')).not.toThrow();
    expect(() => assertMaxAttempts(Number.POSITIVE_INFINITY, 'here')).not.toThrow();
    expect(() => assertRetryOptions({}, 'here')).not.toThrow();
    for (const jitter of ['none', 'full', 'equal', 'decorrelated'] as const) {
      const backoff = { type: 'exponential', delayMs: 5, maxDelayMs: 5, jitter } as const;
      expect(() => assertRetryOptions({ maxAttempts: 3, backoff }, 'here')).not.toThrow();
    }
  });
});
