import { EnqueuePipeline, type NewRow } from './enqueue.js';
import { OutboxError } from './errors.js';
import type { DeadReason, OutboxBacklog, OutboxCounts, OutboxEntry, OutboxRow, RowFilter } from './outbox-row.js';
import type { Outcome } from './outcome.js';
export interface OutboxStoreOptions {
    /** How long a claim lives unless it is extended. Default 5 minutes: the longest wait after a crash. */
    readonly claimTimeoutMs?: number;
    /** Default: a pipeline with no schemas and no interceptors. `OutboxModule` hands in the configured one. */
    readonly pipeline?: EnqueuePipeline;
}
/**
 * Where rows live. A claim is the right to publish a row for a while: `fetchPending` takes it under a new token,
 * and every write under that token changes only rows that still carry it.
 */
export declare abstract class OutboxStore {
    #private;
    readonly claimTimeoutMs: number;
    protected readonly pipeline: EnqueuePipeline;
    constructor(options?: OutboxStoreOptions);
    /** Stores entries on their own, in a transaction that belongs to nobody else: all or none. Gives their ids. */
    enqueue(entries: OutboxEntry | readonly OutboxEntry[]): Promise<string[]>;
    /**
     * Calls back after entries were handed to this very store: a hint that rows may be due soon, or that a transaction
     * is about to commit them. Gives the way to stop it.
     */
    onEnqueue(listener: () => void): () => void;
    /**
     * Claims due rows, oldest first; all carry the same `claimToken`. A row whose claim expired comes alone, with
     * `retakes` one higher. Rows of one key come in order, and only while no other claim on the key lives.
     */
    abstract fetchPending(limit: number): Promise<OutboxRow[]>;
    /**
     * Ends claims. Gives the ids that were still ours; the missing ones were fenced and did not change. Repeating
     * a settle gives the same ids for rows that are dispatched or dead. Without a token it is an operator's step
     * on pending rows, whoever holds them.
     */
    abstract settle(claimToken: string | undefined, outcomes: readonly Outcome[]): Promise<string[]>;
    /** Lets claims live for another `claimTimeoutMs`. Gives the ids that were still ours. */
    abstract extendClaim(claimToken: string, ids: readonly string[]): Promise<string[]>;
    markDispatched(ids: readonly string[], claimToken?: string): Promise<string[]>;
    /** Counts an attempt and ends the claim; due again after `delayMs`, by default at once. */
    markFailed(id: string, error: string, options?: {
        claimToken?: string;
        delayMs?: number;
    }): Promise<boolean>;
    markDead(id: string, error: string, options?: {
        claimToken?: string;
        reason?: DeadReason;
    }): Promise<boolean>;
    /** Gives claims back; no attempt is counted. */
    release(ids: readonly string[], claimToken: string): Promise<string[]>;
    /** Every row by its state. Reads as much as there is: for people and reports, not for a loop. */
    abstract count(): Promise<OutboxCounts>;
    /** What waits, counted up to `atMost`: cheap enough to ask again and again. */
    abstract backlog(atMost?: number): Promise<OutboxBacklog>;
    /** Read-only. Pending rows in the order they fall due; dispatched, dead or all rows with the latest first. */
    abstract peek(filter: RowFilter, limit: number): Promise<OutboxRow[]>;
    /**
     * Makes a row pending and due, with its attempts forgotten and any claim on it void. A dispatched or dead row
     * goes to the tail of its key. Unknown id: `ROW_NOT_FOUND`.
     */
    abstract requeue(id: string): Promise<void>;
    /** Requeues at most `limit` rows, oldest first; dead ones unless the filter names a state. Gives how many. */
    abstract requeueWhere(filter: RowFilter, limit: number): Promise<number>;
    /** Deletes dead rows for good; others stay. Gives how many. */
    abstract discard(ids: readonly string[]): Promise<number>;
    /** Makes a pending row `dead: cancelled`. A publish in flight may finish, but its ack changes nothing. */
    abstract cancel(id: string): Promise<boolean>;
    /** Deletes dispatched rows that are older, page by page. An age is measured by the database's clock. */
    abstract purgeDispatched(olderThan: Date | {
        readonly ageMs: number;
    }): Promise<number>;
    /** Deletes dead rows that died longer ago, likewise. Nothing calls it unless an age for dead rows is configured. */
    abstract purgeDead(olderThan: Date | {
        readonly ageMs: number;
    }): Promise<number>;
    /** Writes checked rows, all or none; a duplicate id is `DUPLICATE_ID`. */
    protected abstract insert(rows: readonly NewRow[]): Promise<void>;
    protected announce(ids: readonly string[]): void;
    /** Whether somebody in this process waits for what is enqueued here. */
    protected get hasEnqueueListeners(): boolean;
}
/** A store that writes inside the caller's own transaction: the message exists if and only if that commits. */
export declare abstract class TransactionalOutboxStore<Tx> extends OutboxStore {
    /** Refuses a handle that is not an open transaction. Gives the ids of the entries, in order. */
    enqueueWith(tx: Tx, entries: OutboxEntry | readonly OutboxEntry[]): Promise<string[]>;
    /**
     * Throws `notATransaction` when the handle would write outside a transaction, as far as it shows without a
     * round trip: that write is the bug this library exists to prevent.
     */
    protected abstract assertTransaction(tx: Tx): void;
    protected abstract insert(rows: readonly NewRow[], tx?: Tx): Promise<void>;
}
/** The error of `assertTransaction`: what was handed in, then what to do. */
export declare function notATransaction(problem: string): OutboxError;
/** For stores: refuses a bad argument of `purgeDispatched` or `purgeDead`, before anything is sent. */
export declare function assertOlderThan(olderThan: Date | {
    readonly ageMs: number;
}): void;
/** For stores: refuses a bad limit, before anything is sent. */
export declare function assertLimit(limit: number): void;
