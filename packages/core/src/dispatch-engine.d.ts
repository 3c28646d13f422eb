import { ClaimedBatch } from './claimed-batch.js';
import { type Clock } from './clock.js';
import { EnqueuePipeline } from './enqueue.js';
import { type OutboxInterceptor, type PublishStep } from './interceptors.js';
import { type OutboxConfig } from './outbox-config.js';
import type { DispatchSummary } from './outbox-dispatcher.js';
import { type OutboxPublisher, type PublishFunction } from './outbox-publisher.js';
import { OutboxSignals } from './outbox-signals.js';
import type { OutboxStore } from './outbox-store.js';
import { type PublishGroup } from './publish-group.js';
import { PublishSlots } from './publish-slots.js';
import type { Random } from './retry-policy.js';
export interface DispatcherOptions extends Partial<OutboxConfig> {
    /** Knows the schemas that rows are checked against before they are published. */
    readonly pipeline?: EnqueuePipeline;
    readonly interceptors?: Iterable<OutboxInterceptor>;
    /** Where it tells what became of rows. */
    readonly signals?: OutboxSignals;
    /** For tests. */
    readonly clock?: Clock;
    /** For tests. Jitter draws from it. */
    readonly random?: Random;
}
/** What the dispatcher and the worker share: everything that a batch of claimed rows needs on its way. */
export declare class DispatchEngine {
    #private;
    readonly store: OutboxStore;
    readonly config: OutboxConfig;
    readonly publisher: OutboxPublisher;
    readonly pipeline: EnqueuePipeline;
    readonly signals: OutboxSignals;
    readonly clock: Clock;
    readonly random: Random;
    readonly slots: PublishSlots;
    readonly publish: PublishStep;
    readonly publishGroup: PublishGroup;
    constructor(store: OutboxStore, publisher: OutboxPublisher | PublishFunction, options?: DispatcherOptions);
    /** Undefined when no row is due. */
    claim(limit: number): Promise<ClaimedBatch | undefined>;
    /** Runs `work` inside the interceptors of `dispatch`. */
    dispatch(limit: number, work: (limit: number) => Promise<DispatchSummary>): Promise<DispatchSummary>;
}
