import type { OutboxRow } from './outbox-row.js';
import type { Outcome } from './outcome.js';
/**
 * The rows of a batch in the order they are to be published. Rows of one key go one after another: a row whose key
 * is being published is passed over, and whoever publishes that key comes for it next.
 */
export declare class BatchQueue {
    #private;
    constructor(rows: readonly OutboxRow[]);
    /** The first row that may start; undefined when none may, now or ever again for this caller. */
    take(): OutboxRow | undefined;
    /** All rows that may go out in one call with `first`, which was taken before; rows of one key in their order. */
    takeAlong(first: OutboxRow, goesAlong: (row: OutboxRow) => boolean): OutboxRow[];
    /** Whether an older row of its key has to be published first, in another batch. */
    isHeldBack({ key }: OutboxRow): boolean;
    ended({ key }: OutboxRow, outcome: Outcome): void;
    /** Takes out what has not started; nothing starts after that. */
    clear(): OutboxRow[];
}
