import type { OutboxRow } from '../message/outbox-row.js';

/** What a row is taken to weigh before any was seen: a first batch of a thousand fits the default budget. */
const UNSEEN_ROW_BYTES = 64 * 1024;
/** Rows of a batch that are weighed, at the most. */
const SAMPLE = 50;
/** How much the latest batch counts in the average. */
const LATEST_WEIGHT = 0.5;

/**
 * Bounds the memory that claimed rows take. The weight of rows is known only after they were claimed, so that the
 * number to claim follows the average of those before.
 */
export class InFlightBudget {
  readonly #maxBytes: number;
  readonly #weights = new Map<readonly OutboxRow[], number>();
  #rowBytes = UNSEEN_ROW_BYTES;
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** How many rows may be claimed now; 0 when none. */
  room(wanted: number): number {
    const left = this.#maxBytes - this.#bytes;
    if (left <= 0) return 0;
    // One row must always fit, however large: it would wait for ever otherwise.
    return Math.min(wanted, Math.max(1, Math.floor(left / this.#rowBytes)));
  }

  /** Counts the rows of a batch, until `remove` is called with the same list. */
  add(rows: readonly OutboxRow[]): void {
    const bytes = weigh(rows);
    this.#rowBytes += LATEST_WEIGHT * (Math.max(1, bytes / rows.length) - this.#rowBytes);
    this.#weights.set(rows, bytes);
    this.#bytes += bytes;
  }

  remove(rows: readonly OutboxRow[]): void {
    this.#bytes -= this.#weights.get(rows) ?? 0;
    this.#weights.delete(rows);
  }
}

/** By a sample: to look into every payload would cost more than it tells. */
function weigh(rows: readonly OutboxRow[]): number {
  const step = Math.ceil(rows.length / SAMPLE);
  const sample = rows.filter((_, place) => place % step === 0);
  const bytes = sample.reduce((sum, { payload }) => sum + roughBytes(payload), 0);
  return (bytes / sample.length) * rows.length;
}

/** What a value parsed from JSON weighs, about: characters of text, a few bytes for everything else. */
function roughBytes(payload: unknown): number {
  let bytes = 0;
  // No recursion: a stored payload may be nested deeper than the stack.
  const rest = [payload];
  while (rest.length > 0) {
    const value = rest.pop();
    if (typeof value === 'string') bytes += value.length;
    else if (typeof value !== 'object' || value === null) bytes += 8;
    else {
      bytes += 16;
      for (const [name, member] of Object.entries(value)) {
        bytes += name.length;
        rest.push(member);
      }
    }
  }
  return bytes;
}
