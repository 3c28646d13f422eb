import { describe, expect, test } from 'vitest';
import { isOutboxError, OutboxError, PermanentError, TransientError } from '../../src/message/errors.js';

describe('isOutboxError', () => {
  test('is true for errors of this copy and of another copy of the package', () => {
    const foreign = Object.assign(new Error('x'), { name: 'OutboxError', code: 'ROW_NOT_FOUND' });
    expect(isOutboxError(new OutboxError('ROW_NOT_FOUND', 'no row'))).toBe(true);
    expect(isOutboxError(foreign)).toBe(true);
  });

  test.each([
    new Error('x'),
    Object.assign(new Error('x'), { name: 'OutboxError' }),
    Object.assign(new Error('x'), { code: 'ENOENT' }),
    { name: 'OutboxError', code: 'ROW_NOT_FOUND' },
    undefined,
  ])('is false for anything else: %s', (other) => {
    expect(isOutboxError(other)).toBe(false);
  });
});

test('an OutboxError keeps code, message and cause', () => {
  const cause = new Error('origin');
  const error = new OutboxError('INVALID_CONFIG', 'no good', { cause });
  expect(error).toMatchObject({ name: 'OutboxError', code: 'INVALID_CONFIG', message: 'no good', cause });
});

test('a PermanentError says so, with a reason and a cause', () => {
  const cause = new Error('origin');
  expect(new PermanentError('never')).toMatchObject({ permanent: true, deadReason: 'permanent' });
  expect(new PermanentError('never', { reason: 'no-listener', cause })).toMatchObject({
    name: 'PermanentError',
    message: 'never',
    deadReason: 'no-listener',
    cause,
  });
});

test('a TransientError says so, with the wait and the cause', () => {
  const cause = new Error('origin');
  expect(new TransientError('later')).toMatchObject({ permanent: false, message: 'later' });
  expect(new TransientError('later', 5, { cause })).toMatchObject({
    name: 'TransientError',
    retryAfterMs: 5,
    cause,
  });
});
