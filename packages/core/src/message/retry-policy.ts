import {
  type BackoffFunction,
  type BackoffStrategies,
  isNamedBackoff,
  isStrategyName,
  missingStrategy,
} from './backoff-strategies.js';
import { OutboxError } from './errors.js';
import { assertKnownOptions, type OptionNames } from './known-options.js';
import { assertWholeNumber } from './option-checks.js';
import type { BackoffOptions, DelayBackoff, NamedBackoff, RetryOptions } from './retry-options.js';

export interface RetryPolicy {
  /** Attempts before a row is dead, the first one included. */
  readonly maxAttempts: number;
  /** If absent, a failed row is due again at once. */
  readonly backoff?: BackoffOptions | BackoffFunction;
  /** The functions that `backoff: { type: name }` of an entry or of this policy may name. */
  readonly backoffStrategies?: BackoffStrategies;
}

/** Returns a number in [0, 1), like `Math.random`. */
export type Random = () => number;

const RETRY_NAMES: OptionNames<RetryOptions> = { maxAttempts: true, backoff: true };
const BACKOFF_NAMES: OptionNames<BackoffOptions> = {
  type: true,
  delayMs: true,
  maxDelayMs: true,
  jitter: true,
};

const DAY_MS = 86_400_000;
/** Longer delays could overflow the database's timestamps. */
const LONGEST_DELAY_MS = 366 * DAY_MS;
/** Enough to reach any cap. */
const MAX_DOUBLINGS = 1_000;
/** After this many steps a decorrelated delay no longer depends on its start; more steps would only take time. */
const DECORRELATED_STEPS = 64;

/** Returns the delay after the given number of failed attempts. */
export function backoffDelayMs(backoff: DelayBackoff, attempts: number, random: Random): number {
  const cap = backoff.maxDelayMs ?? Math.max(DAY_MS, backoff.delayMs);
  if (backoff.jitter === 'decorrelated') return decorrelatedDelayMs(backoff.delayMs, cap, attempts, random);
  // Bounded: 0 times Infinity would be NaN.
  const growth = backoff.type === 'exponential' ? 2 ** Math.min(attempts - 1, MAX_DOUBLINGS) : 1;
  const delayMs = Math.min(cap, backoff.delayMs * growth);
  switch (backoff.jitter) {
    case 'full':
      return random() * delayMs;
    case 'equal':
      return delayMs / 2 + random() * (delayMs / 2);
    default:
      return delayMs;
  }
}

/**
 * Each delay lies between the base and three times the previous one. It grows by itself, so the type does not matter.
 */
function decorrelatedDelayMs(baseMs: number, capMs: number, attempts: number, random: Random): number {
  let delayMs = baseMs;
  for (let step = 0; step < Math.min(attempts, DECORRELATED_STEPS); step++) {
    delayMs = Math.min(capMs, random() * (delayMs * 3 - baseMs) + baseMs);
  }
  return delayMs;
}

/** Rounds and clamps a delay to one that every database can add to its clock. */
export function boundedDelayMs(delayMs: number): number {
  return Math.round(Math.min(Math.max(delayMs, 0), LONGEST_DELAY_MS));
}

/**
 * Throws `INVALID_RETRY_POLICY`; `where` begins the message. Strategy names are checked only if `strategies` is given.
 */
export function assertRetryOptions(
  retry: RetryOptions,
  where: string,
  strategies?: BackoffStrategies | undefined,
): void {
  if (typeof retry !== 'object' || retry === null) throw invalid(where, 'retry must be an object');
  assertKnownOptions(`${where}: retry`, retry, RETRY_NAMES, 'INVALID_RETRY_POLICY');
  const { maxAttempts, backoff } = retry;
  if (maxAttempts !== undefined) assertMaxAttempts(maxAttempts, where);
  if (maxAttempts === Number.POSITIVE_INFINITY) {
    throw invalid(where, 'maxAttempts of an entry must be finite; leave it out to follow the configuration');
  }
  if (backoff !== undefined) assertBackoff(backoff, where, strategies);
}

export function assertMaxAttempts(maxAttempts: number, where: string): void {
  if (maxAttempts === Number.POSITIVE_INFINITY) return;
  assertWholeNumber(`${where}: maxAttempts`, maxAttempts, {
    most: 2_147_483_647,
    code: 'INVALID_RETRY_POLICY',
  });
}

export function assertBackoff(
  backoff: BackoffOptions,
  where: string,
  strategies?: BackoffStrategies | undefined,
): void {
  if (typeof backoff !== 'object' || backoff === null) {
    throw invalid(
      where,
      'backoff of an entry must be plain data; functions belong in the dispatcher’s configuration',
    );
  }
  if (isNamedBackoff(backoff)) assertNamedBackoff(backoff, where, strategies);
  else assertDelayBackoff(backoff, where);
}

function assertNamedBackoff(
  backoff: NamedBackoff,
  where: string,
  strategies: BackoffStrategies | undefined,
): void {
  const { type, ...rest } = backoff;
  const hasMore = Object.values(rest).some((value) => value !== undefined);
  if (hasMore || !isStrategyName(type)) {
    throw invalid(
      where,
      `backoff.type must be 'fixed' or 'exponential', got ${String(type)}; a strategy is chosen by its name alone, 1 to 100 printable ASCII characters`,
    );
  }
  const problem = strategies && missingStrategy(backoff, strategies);
  if (!problem) return;
  const names = Object.keys(strategies).map((name) => `'${name}'`);
  const others = names.length > 0 ? `, or use ${names.join(', ')}` : '';
  throw invalid(where, `${problem}; add it to backoffStrategies${others}`);
}

function assertDelayBackoff(backoff: DelayBackoff, where: string): void {
  assertKnownOptions(`${where}: backoff`, backoff, BACKOFF_NAMES, 'INVALID_RETRY_POLICY');
  const { delayMs, maxDelayMs, jitter = 'none' } = backoff;
  if (!isDelay(delayMs)) throw invalid(where, `backoff.delayMs must be 0 or more, got ${String(delayMs)}`);
  if (maxDelayMs !== undefined && !(isDelay(maxDelayMs) && maxDelayMs >= delayMs)) {
    throw invalid(
      where,
      `backoff.maxDelayMs must be at least delayMs (${delayMs}), got ${String(maxDelayMs)}`,
    );
  }
  if (!['none', 'full', 'equal', 'decorrelated'].includes(jitter)) {
    throw invalid(where, `backoff.jitter must be none, full, equal or decorrelated, got ${String(jitter)}`);
  }
}

function isDelay(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0;
}

function invalid(where: string, problem: string): OutboxError {
  return new OutboxError('INVALID_RETRY_POLICY', `${where}: ${problem}`);
}
