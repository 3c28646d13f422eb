import { type DuePlace, extendBeforeMs, type UnkeyedClaim } from '../dialect.js';
import type { SqlStatement } from '../sql-statement.js';
import type { TableName } from '../table-name.js';
import {
  ALL_PENDING,
  CLAIMED_COLUMNS,
  END_CLAIM,
  EXACT_FLOATS,
  isAt,
  NOW,
  nowPlusMs,
  PENDING,
  PLACES,
} from './columns.js';

/**
 * The commit of this transaction does not wait for the disk. If a server crash loses the claim, the row is claimed again
 * and published twice, as after any crash. Only the settle must be durable.
 */
const WITHOUT_FLUSH = `set_config('synchronous_commit', 'off', true)`;

/** Whether a row `o` is one of those that the CTE `chosen` locked. */
export const IS_CHOSEN = isAt('chosen', PENDING);

export const CLAIM_SETTINGS = `${WITHOUT_FLUSH} || ${EXACT_FLOATS}`;

/**
 * Claims the oldest due rows without a key, in one round trip. SKIP LOCKED lets dispatchers claim side by side without
 * waiting; no row stays locked longer than this statement. No index contains a claim column, so a claim is a HOT update
 * whenever the page has room, and writes no index.
 */
export function claimUnkeyed(table: TableName, claim: UnkeyedClaim): SqlStatement {
  const { after, isBacklog } = claim;
  return after && isBacklog ? claimBacklog(table, claim, after) : claimDue(table, claim);
}

/**
 * A row whose claim expired may have crashed its owner, so it is claimed alone and can't take other rows down with it.
 * Returns a record even if no row is due, to report whether rows with a key are.
 */
function claimDue(table: TableName, claim: UnkeyedClaim): SqlStatement {
  const { token, timeoutMs, limit, mayRetake, after } = claim;
  return {
    text: `
      with due as materialized (
        select tableoid, ctid, claimed_until is not null as orphaned
        from ${table.sql}
        where ${PENDING} and key is null
          and available_at <= ${NOW}
          and (claimed_until is null or ($4::boolean and claimed_until <= ${NOW}))
          ${after ? isBehind('$5', '$6') : ''}
        order by available_at, seq
        limit $3::int
        for update skip locked
      ), chosen as materialized (${CHOSEN}
      ), claimed as (${claimed(table)}
      )
      select k.keyed_due, c.*
      from (select (${keyedDue(table)}) as keyed_due where ${CLAIM_SETTINGS} is not null) k
      left join claimed c on true`,
    values: [token, timeoutMs, limit, mayRetake, ...(after ? [after.availableAt, after.seq] : [])],
  };
}

/** Chooses among the rows that the CTE `due` locked. A row whose claim expired may have crashed its owner, so it is claimed alone. */
export const CHOSEN = `
        select ${PLACES}
        from (
          (select tableoid, ctid from due where orphaned limit 1)
          union all
          select tableoid, ctid from due where not exists (select from due where orphaned)
        ) d`;

export function claimed(table: TableName): string {
  return `
        update ${table.sql} as o
        set ${SET_CLAIM}
        where ${IS_CHOSEN}
        returning ${CLAIMED_COLUMNS}`;
}

/**
 * A shorter claim for a backlog, behind the last full batch; it saves a sixth of the time. It ignores expired claims, so
 * no row has to be claimed alone. If it finds nothing it returns no record, since another search follows.
 */
function claimBacklog(table: TableName, claim: UnkeyedClaim, { availableAt, seq }: DuePlace): SqlStatement {
  return {
    text: `
      with chosen as materialized (
        select ${PLACES}
        from (
          select tableoid, ctid
          from ${table.sql}
          where ${PENDING} and key is null
            and available_at <= ${NOW}
            and claimed_until is null
            ${isBehind('$4', '$5')}
            and (select ${CLAIM_SETTINGS}) is not null
          order by available_at, seq
          limit $3::int
          for update skip locked
        ) due
      )
      update ${table.sql} as o
      set ${SET_CLAIM}
      where ${IS_CHOSEN}
      returning (${keyedDue(table)}) as keyed_due, ${CLAIMED_COLUMNS}`,
    values: [claim.token, claim.timeoutMs, claim.limit, availableAt, seq],
  };
}

/**
 * Whether rows with a key are due; null if not, since null is cheaper for drivers. They may all be blocked or left out:
 * then the keyed claim that follows finds none. Reads the first row by due time instead of using EXISTS: with many pending
 * rows, the planner runs EXISTS as a scan from the start of the table, through all dispatched rows.
 */
export function keyedDue(table: TableName): string {
  return `
        select nullif(available_at <= ${NOW}, false)
        from ${table.sql}
        where ${PENDING} and key is not null
        order by available_at, seq
        limit 1`;
}

/** Added only if there is a place: with one condition for both cases, a generic plan could not use the index. */
export function isBehind(availableAt: string, seq: string): string {
  return `and (available_at, seq) > (timestamptz 'epoch' + ${availableAt}::bigint * interval '1 microsecond', ${seq}::bigint)`;
}

/** Saturate: one edited row at INT_MAX must not fail the whole claim. */
export const SET_CLAIM = `retakes = least(o.retakes, 2147483646) + (o.claimed_until is not null)::int,
          claim_token = $1, claimed_at = ${NOW}, claimed_until = ${nowPlusMs('$2')}`;

/**
 * Used after a claim whose response was lost, since it may have been committed. Reads all pending rows: the token has no
 * index, and only this statement pays for that.
 */
export function releaseToken(table: TableName, token: string): SqlStatement {
  return {
    text: `update ${table.sql} set ${END_CLAIM} where ${ALL_PENDING} and claim_token = $1`,
    values: [token],
  };
}

/**
 * An expired claim on a row with a key stays expired, even if nobody took that row: another owner may have claimed other
 * rows of the key since. The same goes for one about to expire: until this statement commits, another owner may still
 * read the old expiry.
 */
export function extendClaim(
  table: TableName,
  token: string,
  ids: readonly string[],
  timeoutMs: number,
): SqlStatement {
  return {
    text: `
      update ${table.sql}
      set claimed_until = ${nowPlusMs('$3')}
      where id = any ($1::varchar[]) and claim_token = $2 and ${PENDING}
        and (key is null or claimed_until > clock_timestamp() + $4::float8 * interval '1 millisecond')
      returning id`,
    values: [ids, token, timeoutMs, extendBeforeMs(timeoutMs)],
  };
}
