import { describe, expect, test } from 'vitest';
import {
  assertPublishFitsClaim,
  type OutboxConfig,
  resolveConfig,
} from '../../src/dispatch/outbox-config.js';
import { renewalIntervalMs } from '../../src/runtime/timing.js';
import { refusal } from '../outbox-fixture.js';

describe('resolveConfig', () => {
  const defaults = {
    batchSize: 50,
    maxAttempts: Number.POSITIVE_INFINITY,
    maxRetakes: 5,
    concurrency: 1,
    publishTimeoutMs: 30_000,
  };

  test('fills in the defaults', () => {
    expect(resolveConfig()).toEqual(defaults);
    expect(resolveConfig({ batchSize: 7 })).toEqual({ ...defaults, batchSize: 7 });
  });

  test('treats undefined as not set', () => {
    const undefinedValues = { batchSize: undefined, maxAttempts: undefined, backoff: undefined } as never;
    expect(resolveConfig(undefinedValues)).toEqual(defaults);
  });

  test('accepts a backoff as data or as a function', () => {
    const backoff = (): number => 5;
    expect(resolveConfig({ backoff }).backoff).toBe(backoff);
    expect(resolveConfig({ backoff: { type: 'fixed', delayMs: 5 } }).backoff).toEqual({
      type: 'fixed',
      delayMs: 5,
    });
  });

  const wholeNumbers = ['batchSize', 'maxRetakes', 'concurrency'] as const;
  const bad = [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, '5', null];
  test.each(wholeNumbers.flatMap((name) => bad.map((value) => [name, value] as const)))(
    'refuses %s = %s',
    (name, value) => {
      expect(() => resolveConfig({ [name]: value })).toThrow(
        refusal('INVALID_CONFIG', `OutboxConfig: ${name} must be a whole number from 1, got ${value}`),
      );
    },
  );

  test.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY, '5', null])(
    'refuses publishTimeoutMs = %s',
    (value) => {
      expect(() => resolveConfig({ publishTimeoutMs: value as number })).toThrow(
        refusal('INVALID_CONFIG', `publishTimeoutMs must be at least 1, got ${value}`),
      );
    },
  );

  test('rejects an invalid retry policy', () => {
    expect(() => resolveConfig({ maxAttempts: 0 })).toThrow(
      refusal('INVALID_RETRY_POLICY', 'OutboxConfig: maxAttempts must be'),
    );
    expect(() => resolveConfig({ backoff: { type: 'fixed', delayMs: Number.NaN } })).toThrow(
      refusal('INVALID_RETRY_POLICY', 'OutboxConfig: backoff.delayMs'),
    );
    expect(() => resolveConfig({ backoff: null as never })).toThrow(
      refusal('INVALID_RETRY_POLICY', 'OutboxConfig: backoff'),
    );
  });
});

describe('a publish must fit into its claim', () => {
  const config = (publishTimeoutMs: number): OutboxConfig => resolveConfig({ publishTimeoutMs });

  test('a claim is extended three times before it would expire', () => {
    expect(renewalIntervalMs(300_000)).toBe(100_000);
  });

  test('a publish and one heartbeat that fit into the claim are accepted', () => {
    expect(() => assertPublishFitsClaim(config(39_999), 60_000)).not.toThrow();
  });

  test('otherwise it is rejected with the reason and both fixes', () => {
    expect(() => assertPublishFitsClaim(config(40_000), 60_000)).toThrow(
      refusal(
        'INVALID_CONFIG',
        'publishTimeoutMs (40000) plus one heartbeat must be below claimTimeoutMs (60000): set publishTimeoutMs below 40000, or claimTimeoutMs above 60000',
      ),
    );
  });

  test('either fix works', () => {
    expect(() => assertPublishFitsClaim(config(39_999), 60_000)).not.toThrow();
    expect(() => assertPublishFitsClaim(config(40_000), 60_001)).not.toThrow();
  });
});
