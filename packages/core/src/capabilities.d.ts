export interface SchemaProblem {
    /** `required`: the store can't work with this, and start refuses. `tuning`: it works, but badly. */
    readonly level: 'required' | 'tuning';
    readonly problem: string;
    /** The statement that mends it. */
    readonly fix: string;
}
/** The table of a store: who owns it is this, not an ORM. */
export declare abstract class OutboxSchema {
    /** The statements that make an empty database ready. */
    abstract print(): string;
    /** Creates or upgrades the table; harmless when all is well, and when two instances start at once. */
    abstract ensure(): Promise<void>;
    /** What differs from what the store needs; empty when all is well. */
    abstract check(): Promise<SchemaProblem[]>;
}
export interface DiagnosticLimits {
    /** A transaction that has been open for longer is worth telling. */
    readonly transactionAgeMs: number;
}
/** What harms the outbox at present without being a matter of its table. */
export declare abstract class OutboxDiagnostics {
    /** Empty when all is well. */
    abstract find(limits: DiagnosticLimits): Promise<SchemaProblem[]>;
}
/** The right to run a job alone among all instances, for a while. */
export interface HeldLock {
    /** False when the lock was lost: stop working. */
    renew(ttlMs: number): Promise<boolean>;
    release(): Promise<void>;
}
/** A lock with a time to live by the database's clock, fenced by a token of its own. */
export declare abstract class JobLock {
    /** Undefined when another instance holds it. */
    abstract acquire(name: string, ttlMs: number): Promise<HeldLock | undefined>;
}
/** Whether hints arrive at present. */
export type WakeupStatus = {
    readonly isListening: true;
} | {
    readonly isListening: false;
    readonly error: unknown;
    /** False when it can never work here, behind a transaction pooler for one. */
    readonly willRetry: boolean;
};
export interface WakeupListener {
    /** Rows were enqueued; the transaction that did may not have committed yet. */
    onHint(): void;
    onStatus(status: WakeupStatus): void;
}
/** Tells that rows were enqueued, in whatever process. Only a hint: lateness is bounded by polling. */
export declare abstract class OutboxWakeup {
    /**
     * Begins to listen and returns at once: what becomes of it, also when the connection is lost and comes back, goes to
     * `onStatus`. The returned function ends it; after that nothing is called and no connection or timer remains.
     */
    abstract subscribe(listener: WakeupListener): () => Promise<void>;
}
/**
 * Something that drives the dispatcher instead of the worker: a scheduler module binds it, and `app.start()` then
 * leaves the worker alone.
 */
export declare abstract class OutboxDriver {
    abstract readonly name: string;
}
/** Makes a consumer idempotent: it remembers, in the consumer's own transaction, which rows were processed. */
export declare abstract class ProcessedMessages<Tx = unknown> {
    /** Runs `handler` unless this consumer processed the row before. Gives whether it ran. */
    abstract processOnce(tx: Tx, consumer: string, rowId: string, handler: () => Promise<void>): Promise<boolean>;
    /** Forgets what was processed longer ago than any duplicate can come. Gives how many. */
    abstract purge(olderThan: {
        readonly ageMs: number;
    }): Promise<number>;
}
