import type { OutboxRow } from '../message/outbox-row.js';

/** The size assumed for rows before the first batch: a thousand of them fit the default budget. */
const INITIAL_ROW_BYTES = 64 * 1024;
/** How many rows of a batch are measured, at most. */
const SAMPLE_SIZE = 50;
/** Weight of the latest batch in the moving average. */
const LATEST_WEIGHT = 0.5;

/**
 * Limits the memory used by claimed rows. The size of a row is known only after it was claimed, so the number of rows
 * to claim is estimated from a moving average.
 */
export class InFlightBudget {
  readonly #maxBytes: number;
  readonly #bytesByBatch = new Map<readonly OutboxRow[], number>();
  #averageRowBytes = INITIAL_ROW_BYTES;
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** How many of the `wanted` rows may be claimed now. */
  room(wanted: number): number {
    const left = this.#maxBytes - this.#bytes;
    if (left <= 0) return 0;
    // Always allow one row, however large: it would wait forever otherwise.
    return Math.min(wanted, Math.max(1, Math.floor(left / this.#averageRowBytes)));
  }

  /** Counts the rows of a batch, until `remove` is called with the same list. */
  add(rows: readonly OutboxRow[]): void {
    const bytes = estimateBytes(rows);
    const rowBytes = Math.max(1, bytes / rows.length);
    this.#averageRowBytes += LATEST_WEIGHT * (rowBytes - this.#averageRowBytes);
    this.#bytesByBatch.set(rows, bytes);
    this.#bytes += bytes;
  }

  remove(rows: readonly OutboxRow[]): void {
    this.#bytes -= this.#bytesByBatch.get(rows) ?? 0;
    this.#bytesByBatch.delete(rows);
  }
}

/** Estimates from a sample: measuring every payload would cost more than it is worth. */
function estimateBytes(rows: readonly OutboxRow[]): number {
  const step = Math.ceil(rows.length / SAMPLE_SIZE);
  const sample = rows.filter((_, index) => index % step === 0);
  const bytes = sample.reduce((sum, { payload }) => sum + roughBytes(payload), 0);
  return (bytes / sample.length) * rows.length;
}

/** The rough size of a parsed JSON value: the length of its strings, plus a few bytes for everything else. */
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
