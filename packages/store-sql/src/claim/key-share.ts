import type { KeyedClaim } from '../dialect.js';
import type { SqlRecord } from '../sql-statement.js';

/** Keys that a batch is spread over, if there are so many: what can be published side by side. */
export const MIN_KEYS = 50;

/** Rows that a claim takes of each key, at the most. */
export function shareOf({ limit, perKey }: KeyedClaim, keys: number): number {
  const even = Math.floor(limit / Math.max(keys, 1));
  return Math.max(1, Math.min(perKey, Math.max(Math.floor(limit / MIN_KEYS), even)));
}

/** What a claim has to tell of the window that it looked at, whose `available_at` is in microseconds. */
export function windowSeen(window: readonly SqlRecord[]): SqlRecord {
  const last = window.at(-1);
  return {
    window_rows: window.length,
    last_available_at: last?.available_at ?? null,
    last_seq: last?.seq ?? null,
  };
}
