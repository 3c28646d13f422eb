import type { Clock } from './clock.js';
import type { OutboxSignals } from './outbox-signals.js';
import type { OutboxStore } from './outbox-store.js';
/** Tells `backlog` when too much waits: once, and again only after it has been less. */
export declare class BacklogWatch {
    #private;
    constructor(store: OutboxStore, signals: OutboxSignals, clock: Clock, threshold: number);
    start(): void;
    stop(): void;
}
