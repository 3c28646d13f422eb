import type { KeyedClaim } from '../dialect.js';
import type { SqlRecord } from '../sql-statement.js';

/** Spread a batch over at least this many keys, if there are that many, so that they can be published in parallel. */
export const MIN_KEYS = 50;

/** Returns the maximum number of rows a claim takes from each key. */
export function shareOf({ limit, perKey }: KeyedClaim, keys: number): number {
  const even = Math.floor(limit / Math.max(keys, 1));
  return Math.max(1, Math.min(perKey, Math.max(Math.floor(limit / MIN_KEYS), even)));
}

/** Describes why a claim took nothing, as `claimKeyed` returns it. */
export function blockedSeen(blocked: readonly unknown[], empty: readonly unknown[]): SqlRecord {
  return { blocked_keys: JSON.stringify(blocked), empty_keys: JSON.stringify(empty) };
}

/** Describes the window of rows that a claim examined. Its `available_at` is in microseconds. */
export function windowSeen(window: readonly SqlRecord[]): SqlRecord {
  const last = window.at(-1);
  return {
    window_rows: window.length,
    last_available_at: last?.available_at ?? null,
    last_seq: last?.seq ?? null,
  };
}
