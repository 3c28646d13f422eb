import { HeldKeys } from '../message/held-keys.js';
import { comesFirstAgain, type Outcome } from '../message/outcome.js';
import type { RowInFlight } from './row-in-flight.js';

/**
 * Hands out the rows of a batch in publish order. Rows of one key go one after another: a row whose key is being
 * published is skipped, and whoever publishes that key comes back for it.
 */
export class BatchQueue {
  readonly #rows: readonly RowInFlight[];
  /** Every row before this index has started. */
  #firstWaiting = 0;
  /** How many rows of a key have started and not ended. */
  readonly #busyKeys = new Map<string, number>();
  readonly #heldKeys = new HeldKeys();

  constructor(rows: readonly RowInFlight[]) {
    this.#rows = rows;
  }

  /** The first row that may start; undefined when none may, now or ever again for this caller. */
  take(): RowInFlight | undefined {
    for (const next of this.#waiting()) {
      if (this.#isBusy(next)) continue;
      this.#start(next);
      return next;
    }
    return undefined;
  }

  /** Every row that may go out in one call with `first`, which was taken before; rows of one key in order. */
  takeWith(first: RowInFlight, goesAlong: (next: RowInFlight) => boolean): RowInFlight[] {
    const group = [first];
    const groupKeys = new Set([first.key]);
    /** A row that stays behind holds back the rows of its key. */
    const staying = new HeldKeys();
    for (const next of this.#waiting()) {
      const isFree = groupKeys.has(next.key) || !this.#isBusy(next);
      if (isFree && !staying.has(next) && goesAlong(next)) {
        this.#start(next);
        group.push(next);
        groupKeys.add(next.key);
      } else staying.hold(next);
    }
    return group;
  }

  /** Whether an older row of its key failed or was released, so that this one must not overtake it. */
  isHeldBack(flight: RowInFlight): boolean {
    return this.#heldKeys.has(flight);
  }

  ended({ key }: RowInFlight, outcome: Outcome): void {
    if (key === undefined) return;
    const others = (this.#busyKeys.get(key) ?? 1) - 1;
    if (others > 0) this.#busyKeys.set(key, others);
    else this.#busyKeys.delete(key);
    if (comesFirstAgain(outcome)) this.#heldKeys.hold({ key });
  }

  /** Whether no row is waiting. */
  get isEmpty(): boolean {
    return this.#waiting().next().done === true;
  }

  /** Takes out every waiting row, for `phase`. Nothing starts after that. */
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
