import type { BackoffFunction, BackoffStrategies } from '../message/backoff-strategies.js';
import { assertBackoffStrategies } from '../message/backoff-strategies.js';
import { OutboxError } from '../message/errors.js';
import type { OptionNames } from '../message/known-options.js';
import type { BackoffOptions } from '../message/retry-options.js';
import { assertBackoff, assertMaxAttempts, type RetryPolicy } from '../message/retry-policy.js';

/** How the dispatcher works. Units are in the names. */
export interface OutboxConfig extends RetryPolicy {
  /** Rows claimed at once. Default 50. */
  readonly batchSize: number;
  /** Total tries of a row before it is dead. Default unlimited: nothing is given up unless you say so. */
  readonly maxAttempts: number;
  /** The wait after a failure. Default none: due at once, at the back of the line. */
  readonly backoff?: BackoffOptions | BackoffFunction;
  /** Backoff functions by name: an entry chooses one by `retry: { backoff: { type: name } }`. Default none. */
  readonly backoffStrategies?: BackoffStrategies;
  /** Expired claims in a row before a row is taken for the one that kills its process. Default 5. */
  readonly maxRetakes: number;
  /** Publishes at the same time. Default 1: in order. Rows with the same key always go one after another. */
  readonly concurrency: number;
  /** A publish that takes longer has failed. Default 30 s; one heartbeat more must fit into the claim. */
  readonly publishTimeoutMs: number;
}

const DEFAULTS = {
  batchSize: 50,
  maxAttempts: Number.POSITIVE_INFINITY,
  maxRetakes: 5,
  concurrency: 1,
  publishTimeoutMs: 30_000,
} satisfies OutboxConfig;

export const CONFIG_NAMES: OptionNames<OutboxConfig> = {
  batchSize: true,
  maxAttempts: true,
  backoff: true,
  backoffStrategies: true,
  maxRetakes: true,
  concurrency: true,
  publishTimeoutMs: true,
};

/** Fills in defaults and refuses nonsense. */
export function resolveConfig(config: Partial<OutboxConfig> = {}): OutboxConfig {
  const given = Object.fromEntries(Object.entries(config).filter(([, value]) => value !== undefined));
  const resolved: OutboxConfig = { ...DEFAULTS, ...given };
  for (const name of ['batchSize', 'maxRetakes', 'concurrency'] as const)
    assertWholeFromOne(name, resolved[name]);
  assertMaxAttempts(resolved.maxAttempts, 'OutboxConfig');
  const { backoff, backoffStrategies = {} } = resolved;
  assertBackoffStrategies(backoffStrategies);
  if (backoff !== undefined && typeof backoff !== 'function')
    assertBackoff(backoff, 'OutboxConfig', backoffStrategies);
  if (!(Number.isFinite(resolved.publishTimeoutMs) && resolved.publishTimeoutMs >= 1)) {
    throw invalid(`publishTimeoutMs must be at least 1, got ${String(resolved.publishTimeoutMs)}`);
  }
  return resolved;
}

/** Claims are extended three times in their life: two heartbeats may fail before one is lost. */
export function heartbeatMs(claimTimeoutMs: number): number {
  return claimTimeoutMs / 3;
}

/** A publish must end, by success or time-out, before its claim can: otherwise two owners publish at once. */
export function assertPublishFitsClaim({ publishTimeoutMs }: OutboxConfig, claimTimeoutMs: number): void {
  const longestMs = claimTimeoutMs - heartbeatMs(claimTimeoutMs);
  if (publishTimeoutMs < longestMs) return;
  throw invalid(
    `publishTimeoutMs (${publishTimeoutMs}) plus one heartbeat must be below claimTimeoutMs (${claimTimeoutMs}): ` +
      `set publishTimeoutMs below ${Math.floor(longestMs)}, or claimTimeoutMs above ${Math.ceil(publishTimeoutMs * 1.5)}`,
  );
}

function assertWholeFromOne(name: string, value: number): void {
  if (!(Number.isInteger(value) && value >= 1))
    throw invalid(`${name} must be a whole number from 1, got ${String(value)}`);
}

function invalid(problem: string): OutboxError {
  return new OutboxError('INVALID_CONFIG', `OutboxConfig: ${problem}`);
}
