import type { OutboxRow } from '../message/outbox-row.js';
import type { Outcome } from '../message/outcome.js';

/**
 * Where a claimed row is in this process:
 *
 * - `waiting`: its publish has not started.
 * - `publishing`: it was taken from the queue and has no outcome yet.
 * - `ended`: its outcome is known but not recorded.
 * - `settled`: its outcome is recorded, or another owner has taken it over. Nothing is left to do.
 * - `returning`: it is being released without having started.
 * - `abandoned`: its publish was still running when the worker stopped. Nothing is recorded; its claim expires.
 */
export type RowPhase = 'waiting' | 'publishing' | 'ended' | 'settled' | 'returning' | 'abandoned';

/** One call of a publisher, for one or more rows. */
export interface PublishCall {
  readonly abort: (reason: Error) => void;
  /** Rows in the call whose claim is still ours. */
  held: number;
}

/** A claimed row and its state in this process. Nothing else keeps track of it. */
export class RowInFlight {
  readonly row: OutboxRow;
  phase: RowPhase = 'waiting';
  /** Whether the claim is still ours, as far as we know. */
  isHeld = true;
  /** Set when the row has ended. */
  outcome: Outcome | undefined;
  /** Set while the row is being published. */
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
