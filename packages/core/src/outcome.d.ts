import type { DeadReason } from './outbox-row.js';
/** How the claim on one row ends. Delays are milliseconds that the database adds to its own clock. */
export type Outcome = {
    readonly id: string;
} & ({
    readonly kind: 'dispatched';
} | {
    readonly kind: 'failed';
    readonly error: string;
    readonly delayMs: number;
} | {
    readonly kind: 'dead';
    readonly error: string;
    readonly reason: DeadReason;
    /** No publish was tried before the verdict, so `attempts` stays as it is. */
    readonly untried?: boolean;
} | {
    readonly kind: 'released';
    readonly delayMs?: number;
});
/** What an outcome adds to a row's `attempts`, which counts the publishes that failed. */
export declare function attemptsOf(outcome: Outcome): 0 | 1;
export declare function isDeadReason(value: unknown): value is DeadReason;
