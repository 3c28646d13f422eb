import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decide, outcomeOfError } from '../../src/dispatch/decide.js';
import { PermanentError, TransientError } from '../../src/message/errors.js';
import type { RetryPolicy } from '../../src/message/retry-policy.js';
import { rowWith } from '../outbox-fixture.js';

const UNLIMITED: RetryPolicy = { maxAttempts: Number.POSITIVE_INFINITY };
const HOUR_MS = 3_600_000;

describe('decide', () => {
  test('five attempts are 1, 2, 4 and 8 s apart, and the row dies at the fifth failure', () => {
    const policy: RetryPolicy = { maxAttempts: 5, backoff: { type: 'exponential', delayMs: 1_000 } };
    const decisions = [0, 1, 2, 3, 4].map((attempts) =>
      decide(new Error('no'), rowWith({ attempts }), policy),
    );
    expect(decisions).toEqual([
      { kind: 'retry', delayMs: 1_000 },
      { kind: 'retry', delayMs: 2_000 },
      { kind: 'retry', delayMs: 4_000 },
      { kind: 'retry', delayMs: 8_000 },
      { kind: 'dead', reason: 'exhausted' },
    ]);
  });

  test('with one attempt, a row is never retried', () => {
    expect(decide(new Error('no'), rowWith(), { maxAttempts: 1 })).toEqual({
      kind: 'dead',
      reason: 'exhausted',
    });
  });

  test('without a backoff, a failed row is due at once, forever', () => {
    const row = rowWith({ attempts: 1_000_000 });
    expect(decide(new Error('no'), row, UNLIMITED)).toEqual({ kind: 'retry', delayMs: 0 });
  });

  test('the policy stored with the row takes precedence over the configured one', () => {
    const configured: RetryPolicy = { maxAttempts: 2, backoff: { type: 'fixed', delayMs: 9_000 } };
    const frozen = { maxAttempts: 4, backoff: { type: 'fixed', delayMs: 50 } } as const;
    const row = rowWith({ attempts: 2, retry: frozen });
    expect(decide(new Error('no'), row, configured)).toEqual({ kind: 'retry', delayMs: 50 });
    expect(decide(new Error('no'), { ...row, attempts: 3 }, configured).kind).toBe('dead');
    expect(decide(new Error('no'), rowWith({ retry: { maxAttempts: 9 } }), configured)).toEqual({
      kind: 'retry',
      delayMs: 9_000,
    });
  });

  test('jitter uses the configured random source', () => {
    const policy: RetryPolicy = { ...UNLIMITED, backoff: { type: 'fixed', delayMs: 1_000, jitter: 'full' } };
    expect(decide(new Error('no'), rowWith(), policy, () => 0.3)).toEqual({ kind: 'retry', delayMs: 300 });
  });

  test('a custom function receives the number of failures, the error and the row', () => {
    const error = new Error('no');
    const row = rowWith({ attempts: 2 });
    const seen: unknown[] = [];
    const policy: RetryPolicy = {
      ...UNLIMITED,
      backoff: (...args) => {
        seen.push(...args);
        return 12.6;
      },
    };
    expect(decide(error, row, policy)).toEqual({ kind: 'retry', delayMs: 13 });
    expect(seen).toEqual([3, error, row]);
  });

  test('a negative delay of a custom function means at once', () => {
    expect(decide(new Error('no'), rowWith(), { ...UNLIMITED, backoff: () => -5 })).toEqual({
      kind: 'retry',
      delayMs: 0,
    });
  });

  test('retryAfterMs is a minimum delay, not a maximum', () => {
    const policy: RetryPolicy = { ...UNLIMITED, backoff: { type: 'fixed', delayMs: 5_000 } };
    expect(decide(new TransientError('busy', 9_000), rowWith(), policy)).toMatchObject({ delayMs: 9_000 });
    expect(decide(new TransientError('busy', 1_000), rowWith(), policy)).toMatchObject({ delayMs: 5_000 });
    expect(decide(new TransientError('busy'), rowWith(), policy)).toMatchObject({ delayMs: 5_000 });
  });

  test.each([Number.NaN, -5, '9000', null])('a retryAfterMs of %s is ignored', (retryAfterMs) => {
    expect(decide({ retryAfterMs }, rowWith(), UNLIMITED)).toEqual({ kind: 'retry', delayMs: 0 });
  });

  test('an infinite retryAfterMs is capped to what a database can add to a time', () => {
    const decision = decide(new TransientError('busy', Number.POSITIVE_INFINITY), rowWith(), UNLIMITED);
    expect(decision).toEqual({ kind: 'retry', delayMs: 366 * 86_400_000 });
  });

  test('a retry after a transient error still counts against the limit', () => {
    expect(decide(new TransientError('busy', 5), rowWith(), { maxAttempts: 1 })).toEqual({
      kind: 'dead',
      reason: 'exhausted',
    });
  });

  test('the last attempt dies with the reason of its error', () => {
    const noListener = { deadReason: 'no-listener', retryAfterMs: 5 };
    expect(decide(noListener, rowWith(), UNLIMITED)).toEqual({ kind: 'retry', delayMs: 5 });
    expect(decide(noListener, rowWith(), { maxAttempts: 1 })).toEqual({
      kind: 'dead',
      reason: 'no-listener',
    });
    expect(decide({ deadReason: 'tired' }, rowWith(), { maxAttempts: 1 })).toEqual({
      kind: 'dead',
      reason: 'exhausted',
    });
  });

  test('a permanent error kills the row at once', () => {
    expect(decide(new PermanentError('never'), rowWith(), UNLIMITED)).toEqual({
      kind: 'dead',
      reason: 'permanent',
    });
    const noListener = new PermanentError('nobody', { reason: 'no-listener' });
    expect(decide(noListener, rowWith(), UNLIMITED)).toEqual({ kind: 'dead', reason: 'no-listener' });
  });

  test('errors of another copy of the package are recognized by their fields', () => {
    const permanent = Object.assign(new Error('never'), { permanent: true, deadReason: 'no-listener' });
    expect(decide(permanent, rowWith(), UNLIMITED)).toEqual({ kind: 'dead', reason: 'no-listener' });
    const transient = { permanent: false, retryAfterMs: 700 };
    expect(decide(transient, rowWith(), UNLIMITED)).toEqual({ kind: 'retry', delayMs: 700 });
  });

  test('an unknown dead reason falls back to permanent', () => {
    const odd = { permanent: true, deadReason: 'bored' };
    expect(decide(odd, rowWith(), UNLIMITED)).toEqual({ kind: 'dead', reason: 'permanent' });
  });

  test('only permanent: true is permanent', () => {
    for (const permanent of ['yes', 1, {}])
      expect(decide({ permanent }, rowWith(), UNLIMITED).kind).toBe('retry');
  });

  test.each([undefined, null, 'text', 5, Symbol('s')])('throwing %s is an ordinary failure', (thrown) => {
    expect(decide(thrown, rowWith(), UNLIMITED)).toEqual({ kind: 'retry', delayMs: 0 });
  });

  test('no row is attempted more often than its limit', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 50 }), (maxAttempts) => {
        let attempts = 0;
        while (decide(new Error('no'), rowWith({ attempts }), { maxAttempts }).kind === 'retry')
          attempts += 1;
        expect(attempts + 1).toBe(maxAttempts);
      }),
    );
  });
});

describe('outcomeOfError', () => {
  test('an error that throws when read fails its row and nothing else', () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    expect(outcomeOfError(proxy, rowWith(), UNLIMITED)).toEqual({
      id: 'row-1',
      kind: 'failed',
      error: 'an error that could not be read',
      delayMs: 0,
    });
  });

  test('a retry becomes a failed outcome with the text of the error', () => {
    expect(outcomeOfError(new Error('no'), rowWith(), UNLIMITED)).toEqual({
      id: 'row-1',
      kind: 'failed',
      error: 'no',
      delayMs: 0,
    });
  });

  test('a dead outcome keeps the reason and the text', () => {
    expect(outcomeOfError(new PermanentError('never'), rowWith(), UNLIMITED)).toEqual({
      id: 'row-1',
      kind: 'dead',
      error: 'never',
      reason: 'permanent',
    });
  });

  test.each<[string, () => number, string]>([
    [
      'throws',
      () => {
        throw new Error('oops');
      },
      'no (and the backoff function failed: oops)',
    ],
    ['returns NaN', () => Number.NaN, 'the backoff function returned NaN, not milliseconds'],
    ['returns Infinity', () => Number.POSITIVE_INFINITY, 'the backoff function returned Infinity'],
    ['returns nothing', () => undefined as never, 'the backoff function returned undefined'],
  ])(
    'a backoff function that %s delays the row by an hour, and both errors are kept',
    (_name, backoff, text) => {
      const outcome = outcomeOfError(new Error('no'), rowWith(), { ...UNLIMITED, backoff });
      expect(outcome).toMatchObject({ id: 'row-1', kind: 'failed', delayMs: HOUR_MS });
      expect(outcome).toHaveProperty('error', expect.stringContaining(text));
    },
  );

  test('retryAfterMs is a minimum delay even if the backoff function fails', () => {
    const policy: RetryPolicy = { ...UNLIMITED, backoff: () => Number.NaN };
    const outcome = outcomeOfError(new TransientError('busy', 2 * HOUR_MS), rowWith(), policy);
    expect(outcome).toMatchObject({ kind: 'failed', delayMs: 2 * HOUR_MS });
  });
});
