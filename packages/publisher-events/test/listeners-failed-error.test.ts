import { PermanentError, TransientError } from '@postcommit/core';
import { errorText } from '@postcommit/core/internal';
import { ListenersFailedError } from '@postcommit/publisher-events';
import { describe, expect, test } from 'vitest';

function failed(...errors: unknown[]): ListenersFailedError {
  const failures = errors.map((error, index) => ({ listener: `listener-${index + 1}`, error }));
  return new ListenersFailedError({ listeners: 3, failures });
}

describe('ListenersFailedError', () => {
  test('names every listener with its error, and keeps the errors', () => {
    const errors = [new Error('db down', { cause: new Error('ECONNREFUSED') }), 'thrown text'];
    const error = failed(...errors);
    expect(error.message).toBe(
      '2 of 3 listeners failed: listener-1: db down: ECONNREFUSED; listener-2: thrown text',
    );
    expect(error.failures).toEqual([
      { listener: 'listener-1', error: errors[0] },
      { listener: 'listener-2', error: errors[1] },
    ]);
    expect(errorText(error)).toBe(error.message);
    expect(error.name).toBe('ListenersFailedError');
  });

  test('names all of them within the limit of a row’s error text, however long one error is', () => {
    const text = errorText(failed(...Array.from({ length: 20 }, () => new Error('x'.repeat(10_000)))));
    for (let index = 1; index <= 20; index += 1) expect(text).toContain(`listener-${index}: xxx`);
  });

  test.each([
    ['one permanent error', [new PermanentError('gone')], true],
    ['permanent errors only', [new PermanentError('gone'), { permanent: true }], true],
    ['one transient among them', [new PermanentError('gone'), new TransientError('busy')], false],
    ['one of no kind among them', [new PermanentError('gone'), new Error('bug')], false],
    ['what only looks permanent', [{ permanent: 'yes' }], false],
    ['nothing thrown', [undefined], false],
    ['null thrown', [null], false],
  ])('%s', (_what, errors, permanent) => {
    expect(failed(...errors).permanent).toBe(permanent);
  });

  test('is dead for the reason that all share, or else permanent', () => {
    const undecodable = new PermanentError('a', { reason: 'undecodable' });
    expect(failed(undecodable, undecodable).deadReason).toBe('undecodable');
    expect(failed(undecodable, new PermanentError('b')).deadReason).toBe('permanent');
    expect(failed({ permanent: true }).deadReason).toBe('permanent');
    expect(failed(undecodable, new Error('bug')).deadReason).toBeUndefined();
  });

  test('waits for the longest delay that a transient error requests', () => {
    const permanent = Object.assign(new PermanentError('gone'), { retryAfterMs: 90_000 });
    const errors = [
      new TransientError('a', 1_000),
      new TransientError('b', 5_000),
      new Error('c'),
      permanent,
    ];
    expect(failed(...errors).retryAfterMs).toBe(5_000);
    expect(failed(new Error('c'), { retryAfterMs: 'soon' }, { retryAfterMs: Number.NaN })).not.toHaveProperty(
      'retryAfterMs',
    );
  });
});
