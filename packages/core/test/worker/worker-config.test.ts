import { describe, expect, test } from 'vitest';
import { resolveWorkerConfig } from '../../src/worker/worker-config.js';
import { refusal } from '../outbox-fixture.js';

describe('resolveWorkerConfig', () => {
  test('fills in the defaults', () => {
    const defaults = {
      takeoverAfterMs: 30_000,
      pollIntervalMs: 1_000,
      batchesInFlight: 2,
      maxBytesInFlight: 67_108_864,
    };
    expect(resolveWorkerConfig()).toEqual(defaults);
    expect(resolveWorkerConfig({ pollIntervalMs: undefined as never })).toEqual(defaults);
  });

  test('keeps what is set', () => {
    const given = {
      takeoverAfterMs: false as const,
      pollIntervalMs: 0.5 + 1,
      batchesInFlight: 1,
      maxBytesInFlight: 1,
      backlogThreshold: 1,
    };
    expect(resolveWorkerConfig(given)).toEqual(given);
    expect(resolveWorkerConfig({ pollIntervalMs: 2 ** 31 - 1 })).toMatchObject({
      pollIntervalMs: 2_147_483_647,
    });
  });

  describe.each(['pollIntervalMs', 'takeoverAfterMs'] as const)('%s', (name) => {
    test.each([0, 0.9, -1, 2 ** 31, Number.NaN, Number.POSITIVE_INFINITY, true as never])(
      'refuses %s',
      (value) => {
        expect(() => resolveWorkerConfig({ [name]: value })).toThrow(
          refusal('INVALID_CONFIG', `OutboxWorker: ${name} must be at least 1 and below 2^31, got ${value}`),
        );
      },
    );
  });

  describe.each(['batchesInFlight', 'maxBytesInFlight', 'backlogThreshold'] as const)('%s', (name) => {
    test.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, '3' as never])('refuses %s', (value) => {
      expect(() => resolveWorkerConfig({ [name]: value })).toThrow(
        refusal('INVALID_CONFIG', `OutboxWorker: ${name} must be a whole number from 1, got ${value}`),
      );
    });
  });
});
