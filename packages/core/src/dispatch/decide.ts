import { isNamedBackoff, strategyOf } from '../message/backoff-strategies.js';
import type { DeadReason } from '../message/dead-reason.js';
import { isDeadReason } from '../message/dead-reason.js';
import { errorText } from '../message/error-text.js';
import { OutboxError } from '../message/errors.js';
import type { OutboxRow } from '../message/outbox-row.js';
import type { Outcome } from '../message/outcome.js';
import { leastDelayMs, type RetryAfterFields } from '../message/retry-after.js';
import { backoffDelayMs, boundedDelayMs, type Random, type RetryPolicy } from '../message/retry-policy.js';

/** What becomes of a row whose publish failed. */
export type Decision =
  | { readonly kind: 'retry'; readonly delayMs: number }
  | { readonly kind: 'dead'; readonly reason: DeadReason };

/** The delay when the user's backoff function throws: long enough to be noticed, and no row is lost. */
const BROKEN_BACKOFF_DELAY_MS = 3_600_000;

/**
 * Decides whether a failed row is retried, and when. Depends on the error, the row and the policy only; the policy
 * stored with the row takes precedence. Errors are recognised by their fields, so errors from another copy of this
 * package, or from other libraries, work too.
 *
 * @throws `INVALID_RETRY_POLICY` if a backoff function is missing or returns no finite number, and any error it throws.
 */
export function decide(
  error: unknown,
  row: OutboxRow,
  policy: RetryPolicy,
  random: Random = Math.random,
): Decision {
  const { permanent, deadReason } = fieldsOf(error);
  const dead = (reason: DeadReason): Decision => ({
    kind: 'dead',
    reason: isDeadReason(deadReason) ? deadReason : reason,
  });
  if (permanent === true) return dead('permanent');
  const attempts = row.attempts + 1;
  if (attempts >= (row.retry.maxAttempts ?? policy.maxAttempts)) return dead('exhausted');
  const delayMs = configuredDelayMs(policy, attempts, error, row, random);
  return { kind: 'retry', delayMs: boundedDelayMs(Math.max(delayMs, leastDelayMs(fieldsOf(error)))) };
}

/** The outcome of a failed publish. Never throws: one row must not fail the rest of its batch. */
export function outcomeOfError(
  error: unknown,
  row: OutboxRow,
  policy: RetryPolicy,
  random?: Random,
): Outcome {
  const text = errorText(error);
  try {
    const decision = decide(error, row, policy, random);
    return decision.kind === 'dead'
      ? { id: row.id, kind: 'dead', error: text, reason: decision.reason }
      : { id: row.id, kind: 'failed', error: text, delayMs: decision.delayMs };
  } catch (broken) {
    const both = errorText(`${text} (and the backoff function failed: ${errorText(broken)})`);
    const delayMs = Math.max(BROKEN_BACKOFF_DELAY_MS, leastDelayMs(fieldsOf(error)));
    return { id: row.id, kind: 'failed', error: both, delayMs: boundedDelayMs(delayMs) };
  }
}

function configuredDelayMs(
  policy: RetryPolicy,
  attempts: number,
  error: unknown,
  row: OutboxRow,
  random: Random,
): number {
  const backoff = row.retry.backoff ?? policy.backoff;
  if (backoff === undefined) return 0;
  const isFunction = typeof backoff === 'function';
  if (!isFunction && !isNamedBackoff(backoff)) return backoffDelayMs(backoff, attempts, random);
  const strategy = isFunction ? backoff : strategyOf(backoff, policy.backoffStrategies);
  const delayMs = strategy(attempts, error, row);
  if (Number.isFinite(delayMs)) return delayMs;
  throw new OutboxError(
    'INVALID_RETRY_POLICY',
    `the backoff function returned ${String(delayMs)}, not milliseconds`,
  );
}

interface ErrorFields extends RetryAfterFields {
  readonly permanent?: unknown;
  readonly deadReason?: unknown;
}

/** Copies the fields. An error whose fields can't be read, such as a revoked Proxy, has none. */
function fieldsOf(error: unknown): ErrorFields {
  if (typeof error !== 'object' || error === null) return {};
  try {
    const { permanent, retryAfterMs, retryAfter, deadReason } = error as ErrorFields;
    return { permanent, retryAfterMs, retryAfter, deadReason };
  } catch {
    return {};
  }
}
