import type { DuePlace } from '../dialect.js';

/**
 * The database's clock as stored in the tables: whole milliseconds since 1970. SQLite reads it once per statement.
 * Rounded, since 1794828020.498 * 1000 may not be a whole number. Needs SQLite 3.42.
 */
export const NOW = `cast(round(unixepoch('subsec') * 1000) as integer)`;

export function nowPlusMs(ms: string): string {
  return `${NOW} + cast(round(${ms}) as integer)`;
}

/** The columns of a row just claimed. The others are null on a pending row, or known to the claimer. */
export const CLAIMED_COLUMNS =
  'id, topic, payload, key, headers, created_at, available_at, attempts, retakes, last_error, max_attempts, backoff, seq';

/** Pending rows, which the hot indexes hold. Always written the same way, so that the planner recognizes it. */
export const PENDING = 'dispatched_at is null and dead_at is null';

/** Other than pending rows keep the token as a receipt. */
export const ROW_COLUMNS = `${CLAIMED_COLUMNS}, dispatched_at, dead_at, dead_reason, claim_token,
  case when ${PENDING} then claimed_at end as claimed_at, case when ${PENDING} then claimed_until end as claimed_until`;

/** Each hot index holds one kind of pending rows; with one query for both, the planner would scan the whole table. */
export const KINDS = ['key is null', 'key is not null'];

export const END_CLAIM = 'claim_token = null, claimed_at = null, claimed_until = null, claimed_key = null';

/** The members of a list passed as one parameter. */
export const LIST = '(select value from json_each(?))';

export function list(values: readonly unknown[]): string {
  return JSON.stringify(values);
}

/** Needs `placeValues`. */
export const IS_BEHIND = ' and (available_at, seq) > (?, ?)';

export function placeValues(place: DuePlace | undefined): number[] {
  return place ? [Number(place.availableAt) / 1000, Number(place.seq)] : [];
}

/** SQLite has no booleans, and not every driver binds one. */
export function flag(isSet: boolean): 0 | 1 {
  return isSet ? 1 : 0;
}
