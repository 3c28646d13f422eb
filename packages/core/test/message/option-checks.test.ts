import { describe, expect, test } from 'vitest';
import { assertTimerDelay, assertWholeNumber, isTimerDelay } from '../../src/message/option-checks.js';

describe('a whole number', () => {
  test.each([1, 2, 2 ** 31])('%s is accepted', (value) => {
    expect(() => assertWholeNumber('Mine: limit', value)).not.toThrow();
  });

  test.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, '2' as never, undefined as never])(
    '%s is refused, with its name',
    (value) => {
      expect(() => assertWholeNumber('Mine: limit', value)).toThrow(
        expect.objectContaining({
          code: 'INVALID_CONFIG',
          message: `Mine: limit must be a whole number from 1, got ${String(value)}`,
        }),
      );
    },
  );

  test('above its bound is refused with the code of the caller', () => {
    const check = (): void => assertWholeNumber('limit', 3, { most: 2, code: 'INVALID_ARGUMENT' });
    expect(check).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }));
  });
});

describe('the delay of a timer', () => {
  test.each([1, 1.5, 2 ** 31 - 1])('%s is accepted', (value) => {
    expect(() => assertTimerDelay('Mine: waitMs', value)).not.toThrow();
  });

  test.each([0, 2 ** 31, Number.NaN, Number.POSITIVE_INFINITY, '5' as never])('%s is refused', (value) => {
    expect(() => assertTimerDelay('Mine: waitMs', value)).toThrow(
      `Mine: waitMs must be at least 1 and below 2^31, got ${String(value)}`,
    );
  });

  test('may be 0 where the caller says so', () => {
    expect(isTimerDelay(0, 0)).toBe(true);
    expect(isTimerDelay(-1, 0)).toBe(false);
  });
});
