import { keptOf } from '../claim/kept-rows.js';
import { blockedSeen, MIN_KEYS, shareOf, windowSeen } from '../claim/key-share.js';
import type { KeyedClaim } from '../dialect.js';
import type { SqlRecord, SqlStatement, SqlSteps } from '../sql-statement.js';
import type { TableName } from '../table-name.js';
import { aloneIfOrphaned, claimRowsOfKeys } from './claim.js';
import { blockedKeys, emptyKeys } from './claim-blocked.js';
import { flag, IS_BEHIND, LIST, list, NOW, PENDING, placeValues } from './columns.js';

/**
 * Claims rows with a key. A key is free while none of its rows, older or younger, has a live claim. This rule depends on
 * rows that are not claimed, but needs no lock here: BEGIN IMMEDIATE admits one writer, so what these steps read stays
 * true until they commit.
 */
export function claimKeyed(table: TableName, claim: KeyedClaim): () => SqlSteps {
  return function* () {
    const window = yield dueWindow(table, claim);
    const parked = claim.parked.length === 0 ? [] : yield freedom(table, claim.parked);
    const keys = keysOf([...parked, ...keptOf(window, claim)]);
    const rows = yield* claimableRows(table, claim, keys);
    if (rows.length === 0) {
      const blocked = window.length === claim.window ? yield* blockedKeys(table, keys.all) : [];
      const empty = yield* emptyKeys(table, claim.parked);
      return [{ id: null, ...windowSeen(window), ...blockedSeen(blocked, empty) }];
    }
    const claimed = yield claimRowsOfKeys(table, claim, aloneIfOrphaned(rows));
    return claimed.map((row) => ({ ...row, window_rows: window.length }));
  };
}

/** Examines only this many due rows, those left out included, so that the cost depends on the batch, not on the backlog. */
function dueWindow(table: TableName, { after, window, exceptTopics }: KeyedClaim): SqlStatement {
  return {
    text: `
      select key, ${exceptTopics ? 'topic, ' : ''}available_at * 1000 as available_at, seq, ${isFree(table, 'o.key')} as is_free
      from ${table.sql} o
      where ${PENDING} and key is not null and available_at <= ${NOW}
        and (claimed_until is null or claimed_until <= ${NOW})${after ? IS_BEHIND : ''}
      order by o.available_at, o.seq
      limit ?`,
    values: [...placeValues(after), window],
  };
}

function isFree(table: TableName, key: string): string {
  return `not exists (select 1 from ${table.sql} c where c.claimed_key = ${key} and c.claimed_until > ${NOW})`;
}

function freedom(table: TableName, keys: readonly string[]): SqlStatement {
  return {
    text: `select k.value as key, ${isFree(table, 'k.value')} as is_free from json_each(?) k`,
    values: [list(keys)],
  };
}

interface Keys {
  readonly all: readonly string[];
  /** Parked ones first, then in due order. */
  readonly free: readonly string[];
}

function keysOf(window: readonly SqlRecord[]): Keys {
  const isFree = new Map(window.map(({ key, is_free }) => [String(key), is_free === 1]));
  const all = [...isFree.keys()];
  return { all, free: all.filter((key) => isFree.get(key)) };
}

/** Takes key by key, until there are enough rows. */
function* claimableRows(table: TableName, claim: KeyedClaim, { all, free }: Keys): SqlSteps {
  const share = shareOf(claim, all.length);
  const keysAtOnce = Math.max(MIN_KEYS, Math.ceil(claim.limit / share));
  const rows: SqlRecord[] = [];
  for (let start = 0; start < free.length && rows.length < claim.limit; start += keysAtOnce) {
    rows.push(...(yield duePrefixes(table, claim, free.slice(start, start + keysAtOnce), share)));
  }
  return rows.slice(0, claim.limit);
}

/**
 * Reads the oldest rows of each key, up to the first that is not due or left out. Only the first can have an expired
 * claim. CROSS JOIN fixes the loop order, so that the index finds the oldest rows of each key, however many wait behind
 * them.
 */
function duePrefixes(
  table: TableName,
  { mayRetake, exceptTopics }: KeyedClaim,
  keys: readonly string[],
  share: number,
): SqlStatement {
  const isKept = exceptTopics ? ` and h.topic not in ${LIST}` : '';
  return {
    text: `
      with oldest as materialized (
        select k.key as place, h.seq, h.available_at <= ${NOW}${isKept} as is_due, h.claimed_until
        from json_each(?) k
        cross join ${table.sql} h
        where h.seq in (select seq from ${table.sql} where key = k.value and ${PENDING} order by seq limit ?)
      )
      select seq, orphaned
      from (
        select place, seq, claimed_until is not null as orphaned,
          row_number() over behind as position,
          min(is_due) over behind as due_so_far,
          count(claimed_until) over behind as orphans_so_far
        from oldest
        window behind as (partition by place order by seq)
      )
      where due_so_far and (orphans_so_far = 0 or (position = 1 and ?))
      order by place, position`,
    values: [...(exceptTopics ? [list(exceptTopics)] : []), list(keys), share, flag(mayRetake)],
  };
}
