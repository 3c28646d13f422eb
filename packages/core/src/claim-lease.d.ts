import type { Clock } from './clock.js';
import type { OutboxRow } from './outbox-row.js';
import type { OutboxStore } from './outbox-store.js';
/**
 * Keeps the claim of one batch alive while its rows are published, and tells when it is lost. The deadline runs
 * on the process's own clock from before the claim was sent, so it always passes before the database's does.
 */
export declare class ClaimLease {
    #private;
    constructor(store: OutboxStore, token: string, ids: Iterable<string>, sentAtMs: number, clock: Clock);
    /** Whether a publish of this row may start now. */
    holds(id: string): boolean;
    /** Calls `abort` if the claims on all these rows are lost before `publishEnded`. */
    publishStarted(rows: readonly OutboxRow[], abort: (reason: Error) => void): void;
    publishEnded(rows: readonly OutboxRow[]): void;
    /** Aborts every publish that runs. */
    abortAll(reason: Error): void;
    /** No longer ours to extend: settled or given back. */
    drop(rows: readonly OutboxRow[]): void;
    /** What is left of the claim, by the process's own clock. */
    get remainingMs(): number;
    end(): void;
}
