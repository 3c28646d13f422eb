import { type DispatcherOptions } from './dispatch-engine.js';
import type { OutboxPublisher, PublishFunction } from './outbox-publisher.js';
import { type OutboxStore } from './outbox-store.js';
/** What became of one batch. What was fetched and is counted nowhere else was given back unpublished. */
export interface DispatchSummary {
    readonly fetched: number;
    readonly dispatched: number;
    readonly failed: number;
    readonly dead: number;
    /** Rows whose claim was lost before the outcome could be recorded; their new owner decides. */
    readonly fenced: number;
}
/** Claims pending rows, publishes them and records what became of each. It has no loop of its own. */
export declare class OutboxDispatcher {
    #private;
    constructor(store: OutboxStore, publisher: OutboxPublisher | PublishFunction, options?: DispatcherOptions);
    /** Publishes one batch, by default of `batchSize`. A failing row never stops the rows after it. */
    dispatchPending(limit?: number): Promise<DispatchSummary>;
}
