import { HeldKeys } from '../message/held-keys.js';
import type { OutboxRow } from '../message/outbox-row.js';
import { blocksKey, type Outcome } from '../message/outcome.js';

/**
 * Where a claimed row is in this process:
 *
 * - `waiting`: its publish has not started.
 * - `publishing`: it was taken from the queue and has no outcome yet.
 * - `ended`: its outcome is known but not recorded.
 * - `settling`: its outcome is being recorded while other rows of its batch are published.
 * - `settled`: its outcome is recorded, or another owner has taken it over. Nothing is left to do.
 * - `returning`: it is being released without having started.
 * - `abandoned`: its publish was still running when the worker stopped. Nothing is recorded; its claim expires.
 */
export type RowPhase =
  | 'waiting'
  | 'publishing'
  | 'ended'
  | 'settling'
  | 'settled'
  | 'returning'
  | 'abandoned';

/** One call of a publisher, for one or more rows. */
export interface PublishCall {
  readonly abort: (reason: Error) => void;
  /** Rows in the call whose claim is still ours. */
  held: number;
}

/** A claimed row and its state in this process. Nothing else keeps track of it. */
export class RowInFlight {
  readonly row: OutboxRow;
  /** A rate limit does not allow to publish it now. */
  readonly isOverLimit: boolean;
  phase: RowPhase = 'waiting';
  /** Whether the claim is still ours, as far as we know. */
  isHeld = true;
  /** Set when the row has ended. */
  outcome: Outcome | undefined;
  /** Set while the row is being published. */
  call: PublishCall | undefined;

  constructor(row: OutboxRow, isOverLimit = false) {
    this.row = row;
    this.isOverLimit = isOverLimit;
  }

  get id(): string {
    return this.row.id;
  }

  get key(): string | undefined {
    return this.row.key;
  }
}

/** A row whose outcome is known. */
export interface EndedRow {
  readonly row: OutboxRow;
  readonly outcome: Outcome;
}

export function isEnded(flight: RowInFlight): flight is RowInFlight & EndedRow {
  return flight.phase === 'ended' && flight.outcome !== undefined;
}

/**
 * Hands out the rows of a batch in publish order. Rows with the same key are published one after another: `take` skips
 * a row whose key is being published, and the lane that publishes that key comes back for it.
 */
export class BatchQueue {
  readonly #rows: readonly RowInFlight[];
  /** Every row before this index has started. */
  #firstWaiting = 0;
  /** Rows in progress, by key. */
  readonly #busyKeys = new Map<string, number>();
  /** Created when the first key is held: most rows have none. */
  #heldKeys: HeldKeys | undefined;

  constructor(rows: readonly RowInFlight[]) {
    this.#rows = rows;
  }

  /** Starts the first row that may start. Undefined when the caller has nothing left to do in this batch. */
  take(): RowInFlight | undefined {
    for (const next of this.#waiting()) {
      if (this.#isBusy(next)) continue;
      this.#start(next);
      return next;
    }
    return undefined;
  }

  /** Starts every row that can share a call with `first`, which has started. Keeps the order within a key. */
  takeGroup(first: RowInFlight, canJoin: (next: RowInFlight) => boolean): RowInFlight[] {
    const group = [first];
    const groupKeys = new Set([first.key]);
    /** Keys with a row that can't join: the rows behind it must not overtake it. */
    const skipped = new HeldKeys();
    for (const next of this.#waiting()) {
      const isFree = groupKeys.has(next.key) || !this.#isBusy(next);
      if (isFree && !skipped.has(next) && canJoin(next)) {
        this.#start(next);
        group.push(next);
        groupKeys.add(next.key);
      } else skipped.hold(next);
    }
    return group;
  }

  /** Whether an older row with the same key failed or was released; this one must not overtake it. */
  isHeldBack(flight: RowInFlight): boolean {
    return this.#heldKeys?.has(flight) === true;
  }

  ended({ key }: RowInFlight, outcome: Outcome): void {
    if (key === undefined) return;
    const others = (this.#busyKeys.get(key) ?? 1) - 1;
    if (others > 0) this.#busyKeys.set(key, others);
    else this.#busyKeys.delete(key);
    if (!blocksKey(outcome)) return;
    this.#heldKeys ??= new HeldKeys();
    this.#heldKeys.hold({ key });
  }

  get isEmpty(): boolean {
    return this.#waiting().next().done === true;
  }

  /** Moves every waiting row to `phase` and returns them. No row starts after that. */
  clear(phase: 'returning' | 'ended'): RowInFlight[] {
    const rows = [...this.#waiting()];
    for (const flight of rows) flight.phase = phase;
    return rows;
  }

  *#waiting(): Generator<RowInFlight, void> {
    while (this.#rows[this.#firstWaiting]?.phase !== 'waiting' && this.#firstWaiting < this.#rows.length)
      this.#firstWaiting += 1;
    for (let index = this.#firstWaiting; index < this.#rows.length; index++) {
      const flight = this.#rows[index];
      if (flight?.phase === 'waiting') yield flight;
    }
  }

  #isBusy({ key }: RowInFlight): boolean {
    return key !== undefined && this.#busyKeys.has(key);
  }

  #start(flight: RowInFlight): void {
    flight.phase = 'publishing';
    const { key } = flight;
    if (key !== undefined) this.#busyKeys.set(key, (this.#busyKeys.get(key) ?? 0) + 1);
  }
}
