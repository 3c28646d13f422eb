import type { NewRow } from './enqueue.js';
import type { OutboxEntry } from './outbox-row.js';
export interface EntryLimits {
    readonly maxPayloadBytes: number;
}
/** Refuses what is no entry at all, before an interceptor sees it. */
export declare function assertEntry(entry: unknown, index: number): asserts entry is OutboxEntry;
/** Checks everything that can be checked without a database, and serialises the payload. */
export declare function toNewRow(entry: OutboxEntry, index: number, limits: EntryLimits, generateId: () => string): NewRow;
