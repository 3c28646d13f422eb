import type { OutboxWakeup } from './capabilities.js';
import { type DispatcherOptions } from './dispatch-engine.js';
import type { StopOptions } from './modules/lifecycle.js';
import type { OutboxPublisher, PublishFunction } from './outbox-publisher.js';
import type { OutboxSignals } from './outbox-signals.js';
import type { OutboxStore } from './outbox-store.js';
import { type WorkerConfig } from './worker-config.js';
export interface WorkerOptions extends DispatcherOptions, Partial<WorkerConfig> {
    /** Wakes the worker when rows were enqueued elsewhere. Without one it polls, and hears of its own process's. */
    readonly wakeup?: OutboxWakeup | undefined;
}
export interface WorkerHealth {
    /** `down`: the store did not answer the last time it was asked. */
    readonly status: 'up' | 'down' | 'stopped';
    /** Since the last poll that the store answered; absent before the first. */
    readonly lastPollAgeMs?: number;
    /** How long the row that waits longest has been due; absent when the store does not answer. */
    readonly oldestPendingAgeMs?: number;
    /** Rows that are claimed here and not settled. */
    readonly rowsInFlight: number;
    /** Whether hints of other processes arrive; where not, the worker polls. */
    readonly isListening: boolean;
    readonly error?: string;
}
/**
 * The continuous loop: claims due rows, publishes them and records what became of each, until it is stopped.
 *
 * One claim is sent at a time; the batch it brings then goes its own way (`ClaimedBatch`), and the next claim follows
 * while there is room. When the database goes away in the middle of a batch, its publishes go on and its settle is
 * repeated while the claim lives; claims are tried again with growing waits. What could not be settled in time is
 * published again, by this worker or another, after its claim expired.
 */
export declare class OutboxWorker {
    #private;
    /** What it tells, for logs and alerts. */
    readonly signals: OutboxSignals;
    constructor(store: OutboxStore, publisher: OutboxPublisher | PublishFunction, options?: WorkerOptions);
    /** Begins to work; harmless when it does already. A worker that was stopped can be started again. */
    start(): void;
    /**
     * Ends work. Claims whose publish has not begun are given back at once; publishes that run have `graceMs` (default
     * 10 s) to end, then their signal aborts. Gives the ids that had to be abandoned: their claims expire by themselves.
     * When there are none, nothing more is published and no timer or listener remains.
     */
    stop(options?: StopOptions): Promise<string[]>;
    /** For a health check; asks the store. */
    health(): Promise<WorkerHealth>;
}
