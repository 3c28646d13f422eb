import type { DeadReason, OutboxRow } from './outbox-row.js';
import { type Outcome } from './outcome.js';
import { type Random, type RetryPolicy } from './retry-policy.js';
/** What becomes of a row whose publish failed. */
export type Decision = {
    readonly kind: 'retry';
    readonly delayMs: number;
} | {
    readonly kind: 'dead';
    readonly reason: DeadReason;
};
/**
 * Decides by the error, the row and the policy alone. A policy frozen in the row wins over the configured one.
 * Errors are recognised by their fields, so those of another copy of this package, or of nobody's, count too.
 */
export declare function decide(error: unknown, row: OutboxRow, policy: RetryPolicy, random?: Random): Decision;
/** The outcome to settle for a publish that failed. Never throws: the other rows of the batch depend on it. */
export declare function outcomeOfError(error: unknown, row: OutboxRow, policy: RetryPolicy, random?: Random): Outcome;
