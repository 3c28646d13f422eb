import { OutboxError } from './errors.js';
import type { OutboxRow } from './outbox-row.js';
import type { BackoffOptions, NamedBackoff } from './retry-options.js';

/** Returns the delay in milliseconds. `attempts` counts the failed publishes, this one included. */
export type BackoffFunction = (attempts: number, error: unknown, row: OutboxRow) => number;

/**
 * Backoff functions by name, for `backoff: { type: name }`.
 *
 * @example
 * const backoffStrategies = { linear: (attempts: number) => attempts * 5_000 };
 */
export type BackoffStrategies = Readonly<Record<string, BackoffFunction>>;

const NAME_PATTERN = /^[\x20-\x7e]{1,100}$/;

export function isNamedBackoff(backoff: BackoffOptions): backoff is NamedBackoff {
  return backoff.type !== 'fixed' && backoff.type !== 'exponential';
}

export function isStrategyName(name: unknown): name is string {
  return typeof name === 'string' && NAME_PATTERN.test(name);
}

/** Describes the problem if `backoff` names a strategy that is not configured; otherwise undefined. */
export function missingStrategy(
  backoff: BackoffOptions | undefined,
  strategies: BackoffStrategies = {},
): string | undefined {
  if (!backoff || !isNamedBackoff(backoff) || Object.hasOwn(strategies, backoff.type)) return undefined;
  return `backoff strategy '${backoff.type.slice(0, 100)}' is not configured`;
}

/** @throws `INVALID_RETRY_POLICY` if no strategy has this name. */
export function strategyOf({ type }: NamedBackoff, strategies: BackoffStrategies = {}): BackoffFunction {
  const strategy = Object.hasOwn(strategies, type) ? strategies[type] : undefined;
  if (strategy) return strategy;
  throw new OutboxError('INVALID_RETRY_POLICY', `backoff strategy '${type}' is not configured`);
}

export function assertBackoffStrategies(strategies: BackoffStrategies): void {
  if (typeof strategies !== 'object' || strategies === null || Array.isArray(strategies))
    throw invalid('must be an object of functions by name');
  for (const [name, strategy] of Object.entries(strategies)) assertStrategy(name, strategy);
}

function assertStrategy(name: string, strategy: unknown): void {
  if (name === 'fixed' || name === 'exponential')
    throw invalid(`'${name}' is a built-in type; choose another name`);
  if (!isStrategyName(name)) throw invalid(`a name has 1 to 100 printable ASCII characters, got '${name}'`);
  if (typeof strategy !== 'function')
    throw invalid(`'${name}' must be a function that returns milliseconds, got ${typeof strategy}`);
}

function invalid(problem: string): OutboxError {
  return new OutboxError('INVALID_CONFIG', `OutboxConfig: backoffStrategies: ${problem}`);
}
