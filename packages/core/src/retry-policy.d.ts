import type { OutboxRow, RetryOptions } from './outbox-row.js';
/**
 * Randomness that keeps a thousand rows which failed together from coming back together.
 * `full`: anywhere up to the delay. `equal`: its upper half. `decorrelated`: up to three times the previous one.
 */
export type Jitter = 'none' | 'full' | 'equal' | 'decorrelated';
/** How long a failed row waits. Plain data, so that it can be stored with a row. */
export interface BackoffOptions {
    /** `exponential` doubles the delay after each failure. */
    readonly type: 'fixed' | 'exponential';
    /** The wait after the first failure. */
    readonly delayMs: number;
    /** No wait is longer. Default: one day, or `delayMs` if that is longer. */
    readonly maxDelayMs?: number;
    /** Default `none`. */
    readonly jitter?: Jitter;
}
/** `attempts` counts the failed publishes, this one included. Returns milliseconds. */
export type BackoffFunction = (attempts: number, error: unknown, row: OutboxRow) => number;
export interface RetryPolicy {
    /** Total tries, the first one included. */
    readonly maxAttempts: number;
    /** Absent: a failed row is due again at once. */
    readonly backoff?: BackoffOptions | BackoffFunction;
}
/** Returns a number in [0, 1), as `Math.random` does. */
export type Random = () => number;
/** The wait after the `attempts`-th failure, by `backoff` alone. */
export declare function backoffDelayMs(backoff: BackoffOptions, attempts: number, random: Random): number;
/** Whole milliseconds that every database can add to its clock. */
export declare function boundedDelayMs(delayMs: number): number;
/** Refuses a policy that makes no sense; `where` begins the message. */
export declare function assertRetryOptions(retry: RetryOptions, where: string): void;
export declare function assertMaxAttempts(maxAttempts: number, where: string): void;
export declare function assertBackoff(backoff: BackoffOptions, where: string): void;
