import type { OutboxRow } from './outbox-row.js';
import type { Outcome } from './outcome.js';

/**
 * The rows of a batch in the order they are to be published. Rows of one key go one after another: a row whose key
 * is being published is passed over, and whoever publishes that key comes for it next.
 */
export class BatchQueue {
  readonly waiting: Set<OutboxRow>;
  readonly #busyKeys = new Set<string>();
  readonly #heldBackKeys = new Set<string>();

  constructor(rows: readonly OutboxRow[]) {
    this.waiting = new Set(rows);
  }

  /** The first row that may start; undefined when none may, now or ever again for this caller. */
  take(): OutboxRow | undefined {
    for (const row of this.waiting) {
      if (row.key !== undefined && this.#busyKeys.has(row.key)) continue;
      this.waiting.delete(row);
      if (row.key !== undefined) this.#busyKeys.add(row.key);
      return row;
    }
    return undefined;
  }

  /** Whether an older row of its key has to be published first, in another batch. */
  isHeldBack({ key }: OutboxRow): boolean {
    return key !== undefined && this.#heldBackKeys.has(key);
  }

  ended({ key }: OutboxRow, outcome: Outcome): void {
    if (key === undefined) return;
    this.#busyKeys.delete(key);
    // A failed or unpublished row comes first again: its followers must not overtake it.
    if (outcome.kind === 'failed' || outcome.kind === 'released') this.#heldBackKeys.add(key);
  }
}
