import type { ClaimLease } from './claim-lease.js';
import type { Clock } from './clock.js';
import type { PublishContext } from './outbox-publisher.js';
import type { OutboxRow } from './outbox-row.js';
import type { PublishSlots } from './publish-slots.js';
import type { PublishTimeouts } from './publish-timeouts.js';
/** What bounds the publishes of one batch. */
export interface PublishBounds {
    readonly lease: ClaimLease;
    readonly timeouts: PublishTimeouts;
    readonly slots: PublishSlots;
    readonly clock: Clock;
}
/** How a publish ended; `keepsSlot` when the publisher still runs and gives the slot back itself. */
export type PublishEnd<T> = {
    readonly published: true;
    readonly value: T;
    readonly keepsSlot: false;
} | {
    readonly published: false;
    readonly error: unknown;
    readonly keepsSlot: boolean;
};
/**
 * Publishes rows in one call and ends, at the latest, when the time is up or the claim on all of them is lost. A
 * publisher that goes on after its signal aborted keeps its slot until it has ended. Never rejects.
 */
export declare function publishBounded<T>(rows: readonly [OutboxRow, ...OutboxRow[]], publish: (context: PublishContext) => Promise<T>, bounds: PublishBounds): Promise<PublishEnd<T>>;
