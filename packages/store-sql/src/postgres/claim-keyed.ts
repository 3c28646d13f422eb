import { MIN_KEYS } from '../claim/key-share.js';
import { type DuePlace, type KeyedClaim, KeyedLockTimeout } from '../dialect.js';
import { sqlState } from '../driver-errors.js';
import type { SqlStatement, SqlSteps } from '../sql-statement.js';
import type { TableName } from '../table-name.js';
import { IS_CHOSEN, isBehind, SET_CLAIM } from './claim.js';
import { blockedKeys, emptyKeys } from './claim-blocked.js';
import { CLAIMED_COLUMNS, isAt, isKept, NOW, PENDING, PLACES, placeMicroseconds } from './columns.js';
import { lockKeyedClaims } from './keyed-lock.js';

/** SQLSTATE lock_not_available. */
const LOCK_TIMEOUT = '55P03';

/**
 * Claims rows with a key. A key is free while none of its rows, older or younger, has a live claim: a younger row can be
 * in flight when the transaction of an older one commits late. This rule depends on rows that we don't lock, so it must
 * be evaluated after every earlier keyed claim has committed. Hence the lock. It is a separate statement, because the
 * snapshot of a single statement would be older than its lock.
 */
export function claimKeyed(table: TableName, claim: KeyedClaim): () => SqlSteps {
  return function* () {
    try {
      yield lockKeyedClaims(table, claim.lockWaitMs, claim.serverMs);
    } catch (error) {
      throw sqlState(error) === LOCK_TIMEOUT ? new KeyedLockTimeout(error) : error;
    }
    return yield claimFreeKeys(table, claim);
  };
}

/**
 * The algorithm, a CTE per step: a window of due rows, its keys, how many rows each may give, the oldest rows of each free
 * key, those of them that could be locked, and of these the unbroken beginning of each key.
 */
function claimFreeKeys(table: TableName, claim: KeyedClaim): SqlStatement {
  const { token, timeoutMs, limit, mayRetake, window, perKey, after, exceptTopics } = claim;
  const values: unknown[] = [token, timeoutMs, limit, mayRetake, window, perKey, ...placeValues(after)];
  const except = exceptTopics && `$${values.push(exceptTopics)}`;
  const parked = claim.parked.length > 0 ? `$${values.push(claim.parked)}` : undefined;
  return {
    text: `
      with due_window as materialized (${dueWindow(table, after, except)}
      ), keys as materialized (${keys(except, parked)}
      ), share as materialized (${SHARE}
      ), prefix as materialized (${prefix(table, except)}
      ), prefix_places as materialized (
        select ${PLACES} from prefix
      ), locked as materialized (${locked(table)}
      ), unbroken as materialized (${UNBROKEN}
      ), chosen as materialized (${CHOSEN}
      ), claimed as (${claimed(table)}
      )
      ${claimedAndWindow(table, parked)}`,
    values,
  };
}

function placeValues(place: DuePlace | undefined): string[] {
  return place ? [place.availableAt, place.seq] : [];
}

/**
 * Excludes rows in flight although their keys are busy anyway: otherwise several batches in flight would fill the window.
 * Rows that are left out count, to bound the walk, but their keys are not looked up.
 */
function dueWindow(table: TableName, after: DuePlace | undefined, except: string | undefined): string {
  const kept = except ? `${isKept(except)} as is_kept, ` : '';
  return `
        select key, available_at, seq, ${kept}row_number() over (order by available_at, seq) as place
        from ${table.sql}
        where ${PENDING} and key is not null and available_at <= ${NOW}
          and (claimed_until is null or claimed_until <= ${NOW})
          ${after ? isBehind('$7', '$8') : ''}
        order by available_at, seq
        limit $5::int`;
}

/** The places of parked keys are before those of the window, each its own. */
function keys(except: string | undefined, parked: string | undefined): string {
  const ofWindow = `select key, place from due_window${except ? ' where is_kept' : ''}`;
  const ofParked = `select key, n - cardinality(${parked}::varchar[]) from unnest(${parked}::varchar[]) with ordinality p (key, n)`;
  return `
        select key, min(place) as place
        from (${ofWindow}${parked ? ` union all ${ofParked}` : ''}) k
        group by key`;
}

/** The maximum number of rows of each key, as in `shareOf`. */
const SHARE = `
        select greatest(1, least($6::int, greatest($3::int / ${MIN_KEYS}, $3::int / greatest(count(*), 1))))::int as rows
        from keys`;

/**
 * The oldest rows of each free key, up to the first that is not due or left out. Only the first can have an expired
 * claim.
 *
 * `claimed_key` repeats the key on claimed rows only and is indexed. It finds the live claims of a key without reading its
 * backlog, and rows without a key never change it, so their claims stay HOT updates. OFFSET 0 keeps the planner from
 * joining the keys with all live claims. It expects next to none of them, and chose a nested loop: 130 ms instead of
 * 40 ms for a claim of 1,000 rows beside a batch in flight.
 *
 * The rows come in the order of `place`, since that is how the loop runs; were it another, UNBROKEN would restore it.
 */
function prefix(table: TableName, except: string | undefined): string {
  const isReady = except ? ` and ${isKept(except, 'h.')}` : '';
  return `
        select k.place, p.*
        from (select key, place from keys order by place) k
        cross join lateral (
          select h.tableoid, h.ctid, h.claimed_until is not null as orphaned,
            row_number() over (order by h.seq) as position,
            bool_and(h.available_at <= ${NOW}${isReady}) over (order by h.seq) as due_so_far,
            count(h.claimed_until) over (order by h.seq) as orphans_so_far
          from (
            select tableoid, ctid, seq, available_at, claimed_until${except ? ', topic' : ''}
            from ${table.sql}
            where key = k.key and ${PENDING}
            order by seq
            limit (select rows from share)
          ) h
        ) p
        where p.due_so_far and (p.orphans_so_far = 0 or (p.position = 1 and $4::boolean))
          and not exists (
            select from ${table.sql} c where c.claimed_key = k.key and c.claimed_until > ${NOW} offset 0
          )
        limit $3::int`;
}

/** Skips rows locked by someone else: an operator who requeues, a late settle. */
function locked(table: TableName): string {
  return `
        select o.tableoid, o.ctid
        from ${table.sql} as o
        where ${IS_IN_PREFIX}
        for update skip locked`;
}

const IS_IN_PREFIX = isAt('prefix_places', PENDING);

/** A row that was skipped breaks its key: all later rows of the key are skipped with it. */
const UNBROKEN = `
        select p.tableoid, p.ctid, p.place, p.position, p.orphaned
        from (
          select p.*, count(*) over (partition by p.place order by p.position) as locked_so_far
          from prefix p join locked l on l.tableoid = p.tableoid and l.ctid = p.ctid
        ) p
        where p.locked_so_far = p.position
        order by p.place, p.position
        limit $3::int`;

/** A row whose claim expired may have crashed its owner, so it is claimed alone. */
const CHOSEN = `
        select ${PLACES}
        from (
          (select tableoid, ctid from unbroken where orphaned limit 1)
          union all
          select tableoid, ctid from unbroken where not exists (select from unbroken where orphaned)
        ) u`;

function claimed(table: TableName): string {
  return `
        update ${table.sql} as o
        set ${SET_CLAIM}, claimed_key = o.key
        where ${IS_CHOSEN}
        returning ${CLAIMED_COLUMNS}`;
}

/** Where nothing was claimed, the next search begins behind the last row of this window. */
function claimedAndWindow(table: TableName, parked: string | undefined): string {
  return `select w.window_rows, ${placeMicroseconds('d.available_at')} as last_available_at, d.seq::text as last_seq,
        b.blocked_keys, e.empty_keys, c.*
      from (select count(*)::int as window_rows from due_window) w
      left join due_window d on d.place = w.window_rows and not exists (select from claimed)
      cross join lateral (${blockedKeys(table, '$5')}
      ) b
      cross join (${emptyKeys(table, parked)}
      ) e
      left join claimed c on true`;
}
