import { describe, expect, test } from 'vitest';
import { assertKnownOptions, type OptionNames } from '../../src/message/known-options.js';
import { unknownOption } from '../../src/message/unknown-option.js';
import { refusal } from '../outbox-fixture.js';

const NAMES = { maxAttempts: true, backoff: true, limit: true } as const;

describe('an unknown option', () => {
  test.each([
    ['maxAttempt', 'maxAttempts'],
    ['maxAttemtps', 'maxAttempts'],
    ['MaxAttempts', 'maxAttempts'],
    ['backof', 'backoff'],
    ['limits', 'limit'],
  ])('%s is rejected with a suggestion: %s', (written, meant) => {
    expect(unknownOption({ limit: 1, [written]: 5 }, NAMES)).toBe(
      `unknown option '${written}': did you mean '${meant}'?`,
    );
  });

  test.each(['retries', 'constructor', '__proto', ''])("'%s' is rejected with the known names", (written) => {
    expect(unknownOption({ [written]: undefined }, NAMES)).toBe(
      `unknown option '${written}': the options are maxAttempts, backoff, limit`,
    );
  });

  test('is an error with the requested code', () => {
    const check = (code?: 'INVALID_ARGUMENT') => () =>
      assertKnownOptions<object>('Thing', { limt: 1 }, NAMES, code);
    expect(check()).toThrow(refusal('INVALID_CONFIG', "Thing: unknown option 'limt': did you mean 'limit'?"));
    expect(check('INVALID_ARGUMENT')).toThrow(refusal('INVALID_ARGUMENT', 'Thing: unknown option'));
  });
});

test.each([[{}], [{ limit: 1, backoff: undefined }], [undefined], [null], [5]])('%j has none', (options) => {
  expect(unknownOption(options, NAMES)).toBeUndefined();
});

test('a list of names does not compile if one is missing, even of a union', () => {
  type Options = { readonly one?: number } | { readonly two: string; readonly three?: boolean };
  const names: OptionNames<Options> = { one: true, two: true, three: true };
  // @ts-expect-error: Property 'three' is missing
  const stale: OptionNames<Options> = { one: true, two: true };
  // @ts-expect-error: Object literal may only specify known properties
  const wrong: OptionNames<Options> = { ...names, four: true };
  expect([stale, wrong]).toHaveLength(2);
});
