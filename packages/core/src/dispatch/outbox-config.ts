import type { BackoffFunction, BackoffStrategies } from '../message/backoff-strategies.js';
import { assertBackoffStrategies } from '../message/backoff-strategies.js';
import { OutboxError } from '../message/errors.js';
import type { OptionNames } from '../message/known-options.js';
import { assertDuration, assertWholeNumber } from '../message/option-checks.js';
import type { BackoffOptions } from '../message/retry-options.js';
import { assertBackoff, assertMaxAttempts, type RetryPolicy } from '../message/retry-policy.js';
import { DEFAULT_PUBLISH_TIMEOUT_MS, longestPublishMs } from '../runtime/claim-timing.js';
import { assertRateLimits, type RateLimit } from './rate-limits.js';

/** Configures how rows are claimed, published and retried. */
export interface OutboxConfig extends RetryPolicy {
  /** Rows claimed at once. @default 50 */
  readonly batchSize: number;
  /** Attempts before a row is dead, the first one included. @default Infinity */
  readonly maxAttempts: number;
  /**
   * The delay after a failure.
   *
   * @default none: `OutboxWorker` waits one `pollIntervalMs`; for `OutboxDispatcher` the row is due at once
   */
  readonly backoff?: BackoffOptions | BackoffFunction;
  /** Backoff functions by name. An entry selects one with `retry: { backoff: { type: name } }`. @default none */
  readonly backoffStrategies?: BackoffStrategies;
  /** Consecutive expired claims after which a row is `dead: crashed`: it probably crashes its process. @default 5 */
  readonly maxRetakes: number;
  /**
   * A row that is older when it is claimed is `dead: expired`. Its age counts from the enqueue, also while its topic is
   * paused, its destination is away or it is not due. @default never
   */
  readonly maxAgeMs?: number;
  /** Concurrent publishes. Rows with the same key are always published one after another. @default 1 */
  readonly concurrency: number;
  /**
   * Limits rows of some topics, per process: `{ 'email.*': { perSecond: 50 } }`. In a pattern, `*` matches any number of
   * characters; the first match counts.
   *
   * @default none
   */
  readonly rateLimit?: Readonly<Record<string, RateLimit>>;
  /** A publish that takes longer fails. Must be below two thirds of the store's `claimTimeoutMs`. @default 30_000 */
  readonly publishTimeoutMs: number;
}

const DEFAULTS = {
  batchSize: 50,
  maxAttempts: Number.POSITIVE_INFINITY,
  maxRetakes: 5,
  concurrency: 1,
  publishTimeoutMs: DEFAULT_PUBLISH_TIMEOUT_MS,
} satisfies OutboxConfig;

export const CONFIG_NAMES: OptionNames<OutboxConfig> = {
  batchSize: true,
  maxAttempts: true,
  backoff: true,
  backoffStrategies: true,
  maxRetakes: true,
  maxAgeMs: true,
  concurrency: true,
  rateLimit: true,
  publishTimeoutMs: true,
};

/**
 * Applies defaults.
 *
 * @throws `INVALID_CONFIG` or `INVALID_RETRY_POLICY` for invalid options.
 */
export function resolveConfig(config: Partial<OutboxConfig> = {}): OutboxConfig {
  const given = Object.fromEntries(Object.entries(config).filter(([, value]) => value !== undefined));
  const resolved: OutboxConfig = { ...DEFAULTS, ...given };
  for (const name of ['batchSize', 'maxRetakes', 'concurrency'] as const)
    assertWholeNumber(`OutboxConfig: ${name}`, resolved[name]);
  assertMaxAttempts(resolved.maxAttempts, 'OutboxConfig');
  const { backoff, backoffStrategies = {} } = resolved;
  assertBackoffStrategies(backoffStrategies);
  if (backoff !== undefined && typeof backoff !== 'function')
    assertBackoff(backoff, 'OutboxConfig', backoffStrategies);
  if (resolved.rateLimit) assertRateLimits(resolved.rateLimit);
  assertDuration('OutboxConfig: publishTimeoutMs', resolved.publishTimeoutMs);
  if (resolved.maxAgeMs !== undefined) assertDuration('OutboxConfig: maxAgeMs', resolved.maxAgeMs);
  return resolved;
}

/** See `longestPublishMs`. */
export function assertPublishFitsClaim({ publishTimeoutMs }: OutboxConfig, claimTimeoutMs: number): void {
  const longestMs = longestPublishMs(claimTimeoutMs);
  if (publishTimeoutMs < longestMs) return;
  throw new OutboxError(
    'INVALID_CONFIG',
    `OutboxConfig: publishTimeoutMs (${publishTimeoutMs}) plus one heartbeat must be below claimTimeoutMs (${claimTimeoutMs}): ` +
      `set publishTimeoutMs below ${Math.floor(longestMs)}, or claimTimeoutMs above ${Math.ceil(publishTimeoutMs * 1.5)}`,
  );
}
