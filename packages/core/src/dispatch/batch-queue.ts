import type { OutboxRow } from '../message/outbox-row.js';
import type { Outcome } from '../message/outcome.js';

/**
 * The rows of a batch in the order they are to be published. Rows of one key go one after another: a row whose key
 * is being published is passed over, and whoever publishes that key comes for it next.
 */
export class BatchQueue {
  readonly #waiting: Set<OutboxRow>;
  /** How many rows of a key were taken and have not ended. */
  readonly #busyKeys = new Map<string, number>();
  readonly #heldBackKeys = new Set<string>();

  constructor(rows: readonly OutboxRow[]) {
    this.#waiting = new Set(rows);
  }

  /** The first row that may start; undefined when none may, now or ever again for this caller. */
  take(): OutboxRow | undefined {
    for (const row of this.#waiting) {
      if (row.key !== undefined && this.#busyKeys.has(row.key)) continue;
      this.#started(row);
      return row;
    }
    return undefined;
  }

  /** All rows that may go out in one call with `first`, which was taken before; rows of one key in their order. */
  takeAlong(first: OutboxRow, goesAlong: (row: OutboxRow) => boolean): OutboxRow[] {
    const group = [first];
    const ownKeys = new Set(first.key === undefined ? [] : [first.key]);
    /** A row that stays keeps back the rows of its key behind it. */
    const keptKeys = new Set<string>();
    for (const row of this.#waiting) {
      const { key } = row;
      const mayStart =
        key === undefined || (!keptKeys.has(key) && (ownKeys.has(key) || !this.#busyKeys.has(key)));
      if (mayStart && goesAlong(row)) {
        this.#started(row);
        group.push(row);
        if (key !== undefined) ownKeys.add(key);
      } else if (key !== undefined) keptKeys.add(key);
    }
    return group;
  }

  /** Whether an older row of its key has to be published first, in another batch. */
  isHeldBack({ key }: OutboxRow): boolean {
    return key !== undefined && this.#heldBackKeys.has(key);
  }

  ended({ key }: OutboxRow, outcome: Outcome): void {
    if (key === undefined) return;
    const others = (this.#busyKeys.get(key) ?? 1) - 1;
    if (others > 0) this.#busyKeys.set(key, others);
    else this.#busyKeys.delete(key);
    // A failed or unpublished row comes first again: its followers must not overtake it.
    if (outcome.kind === 'failed' || outcome.kind === 'released') this.#heldBackKeys.add(key);
  }

  /** Whether all have started. */
  get isEmpty(): boolean {
    return this.#waiting.size === 0;
  }

  /** Takes out what has not started; nothing starts after that. */
  clear(): OutboxRow[] {
    const rows = [...this.#waiting];
    this.#waiting.clear();
    return rows;
  }

  #started(row: OutboxRow): void {
    this.#waiting.delete(row);
    if (row.key !== undefined) this.#busyKeys.set(row.key, (this.#busyKeys.get(row.key) ?? 0) + 1);
  }
}
