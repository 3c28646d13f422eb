import type { OutboxConfig } from './outbox-config.js';
import type { OutboxRow } from './outbox-row.js';
import type { Outcome } from './outcome.js';
/** The verdict on a row that must not be published any more; undefined for the others. */
export declare function condemned(row: OutboxRow, config: OutboxConfig): Outcome | undefined;
export declare function undecodable({ id }: OutboxRow, error: string): Outcome;
