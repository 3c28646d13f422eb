import type { OutboxRow } from './outbox-row.js';
/**
 * Bounds the memory that claimed rows take. The weight of rows is known only after they were claimed, so that the
 * number to claim follows the average of those before.
 */
export declare class InFlightBudget {
    #private;
    constructor(maxBytes: number);
    /** How many rows may be claimed now; 0 when none. */
    room(wanted: number): number;
    /** Gives the way to take it off again. */
    add(rows: readonly OutboxRow[]): () => void;
}
