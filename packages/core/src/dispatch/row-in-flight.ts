import type { OutboxRow } from '../message/outbox-row.js';
import type { Outcome } from '../message/outcome.js';

/**
 * Where a claimed row is in this process:
 *
 * - `waiting`: its publish has not started.
 * - `publishing`: it was taken from the queue and has no outcome yet.
 * - `ended`: its outcome is known and not recorded.
 * - `settled`: the store has recorded its outcome, or another owner has taken it over. Nothing is left to do.
 * - `returning`: it is being released without having started.
 * - `abandoned`: it was left to its publisher at a stop. Nothing is recorded; its claim expires.
 */
export type RowPhase = 'waiting' | 'publishing' | 'ended' | 'settled' | 'returning' | 'abandoned';

/** One call of a publisher and the rows it carries. */
export interface PublishCall {
  readonly abort: (reason: Error) => void;
  /** Rows of the call whose claim is still ours. */
  held: number;
}

/** A claimed row on its way through this process. The only place that says where it is. */
export class RowInFlight {
  readonly row: OutboxRow;
  phase: RowPhase = 'waiting';
  /** Whether the claim is still ours, as far as we know. */
  isHeld = true;
  /** Set from `ended` on. */
  outcome: Outcome | undefined;
  /** Set while a publisher has the row. */
  call: PublishCall | undefined;

  constructor(row: OutboxRow) {
    this.row = row;
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
  return flight.phase === 'ended';
}
