import { assertKnownOptions, type OptionNames } from '../message/known-options.js';
import type { OutboxRow } from '../message/outbox-row.js';
import type { PublishResult } from './outbox-publisher.js';

export interface WaveOptions {
  /** Ends the waves: rows that were not sent are rejected with its reason. */
  readonly signal: AbortSignal;
  /** The most rows the broker takes in one call. @default no limit */
  readonly maxRows?: number;
  /** The most bytes the broker takes in one call. A larger row is sent alone. @default no limit */
  readonly maxBytes?: number;
  /** The size of a row on the wire. Needed with `maxBytes`. */
  readonly bytesOf?: (row: OutboxRow) => number;
}

const WAVE_NAMES: OptionNames<WaveOptions> = { signal: true, maxRows: true, maxBytes: true, bytesOf: true };

/**
 * Publishes a batch in order per key: a wave has the first unsent row of each key, and all rows without a key. The next
 * wave goes out when every row of the last one is confirmed or refused. Rows behind a refused one of their key are not
 * sent.
 *
 * `sendWave` returns a result for each of its rows. If it rejects, nothing more is sent, and every row that has no result
 * is rejected with its error.
 *
 * @example
 * publishBatch(rows, { signal }) {
 *   return publishInWaves(rows, (wave) => Promise.allSettled(wave.map((row) => this.#send(row))), { signal });
 * }
 */
export async function publishInWaves(
  rows: readonly OutboxRow[],
  sendWave: (wave: readonly OutboxRow[]) => Promise<readonly PublishResult[]>,
  options: WaveOptions,
): Promise<PublishResult[]> {
  assertKnownOptions('publishInWaves', options, WAVE_NAMES, 'INVALID_ARGUMENT');
  const results = new Map<OutboxRow, PublishResult>();
  let waiting: readonly OutboxRow[] = rows;
  try {
    while (waiting.length > 0) {
      options.signal.throwIfAborted();
      const wave = nextWave(waiting, options);
      const confirmed = await sendWave(wave);
      for (const [index, row] of wave.entries()) results.set(row, confirmed[index] ?? noResult());
      waiting = stillWaiting(waiting, results);
    }
  } catch (reason) {
    for (const row of waiting) results.set(row, { status: 'rejected', reason });
  }
  return rows.map((row) => results.get(row) ?? noResult());
}

/** The longest wave that the limits allow. It has at least one row. */
function nextWave(waiting: readonly OutboxRow[], options: WaveOptions): OutboxRow[] {
  const { maxRows = Number.POSITIVE_INFINITY, maxBytes = Number.POSITIVE_INFINITY, bytesOf } = options;
  const wave: OutboxRow[] = [];
  const keys = new Set<string>();
  let bytes = 0;
  for (const row of waiting) {
    if (wave.length > 0 && wave.length >= maxRows) break;
    if (row.key !== undefined && keys.has(row.key)) continue;
    bytes += bytesOf?.(row) ?? 0;
    if (bytes > maxBytes && wave.length > 0) break;
    wave.push(row);
    if (row.key !== undefined) keys.add(row.key);
  }
  return wave;
}

/** The rows without a result. Those behind a refused row of their key get its result. */
function stillWaiting(waiting: readonly OutboxRow[], results: Map<OutboxRow, PublishResult>): OutboxRow[] {
  const refused = new Map<string, PublishResult>();
  return waiting.filter((row) => {
    const own = results.get(row);
    if (own?.status === 'rejected' && row.key !== undefined) refused.set(row.key, own);
    const behind = row.key === undefined ? undefined : refused.get(row.key);
    if (!own && behind) results.set(row, behind);
    return !own && !behind;
  });
}

/** A publisher that forgets a row must not count it as delivered. */
function noResult(): PublishResult {
  return { status: 'rejected', reason: new TypeError('sendWave returned no result for this row') };
}
