import { type DuePlace, extendBeforeMs, type UnkeyedClaim } from '../dialect.js';
import type { SqlStatement } from '../sql-statement.js';
import type { TableName } from '../table-name.js';
import {
  ALL_PENDING,
  claimedColumns,
  END_CLAIM,
  EXACT_FLOATS,
  isAt,
  NOW,
  nowPlusMs,
  PENDING,
  PLACES,
} from './columns.js';

/**
 * For this transaction only: its commit does not wait for the disk. A claim that a crash of the server takes back only
 * means that the row is claimed again, and what was published under it is published twice: as after any crash. It is
 * the settle that must last.
 */
const WITHOUT_FLUSH = `set_config('synchronous_commit', 'off', true)`;

export const CLAIM_SETTINGS = `${WITHOUT_FLUSH} || ${EXACT_FLOATS}`;

/**
 * Claims the oldest due rows without a key, in one round trip. SKIP LOCKED lets two dispatchers pass each other
 * without waiting; no row is locked longer than this statement. No index contains a claim column, so that with room in
 * the page every claim is a HOT update: no index is written.
 */
export function claimUnkeyed(table: TableName, claim: UnkeyedClaim): SqlStatement {
  const { after, isBacklog } = claim;
  return after && isBacklog ? claimBacklog(table, claim, after) : claimDue(table, claim);
}

/**
 * A row whose claim expired may have killed its owner: it is taken alone, so that it takes nobody along. There is a
 * record even where no row is due: it tells whether rows with a key are.
 */
function claimDue(table: TableName, claim: UnkeyedClaim): SqlStatement {
  const { token, timeoutMs, limit, mayRetake, after } = claim;
  return {
    text: `
      with due as materialized (
        select tableoid, ctid, claimed_until is not null as orphaned
        from ${table}
        where ${PENDING} and key is null
          and available_at <= ${NOW}
          and (claimed_until is null or ($4::boolean and claimed_until <= ${NOW}))
          ${after ? isBehind('$5', '$6') : ''}
        order by available_at, seq
        limit $3::int
        for update skip locked
      ), chosen as materialized (
        select ${PLACES}
        from (
          (select tableoid, ctid from due where orphaned limit 1)
          union all
          select tableoid, ctid from due where not exists (select from due where orphaned)
        ) d
      ), claimed as (
        update ${table} as o
        set ${SET_CLAIM}
        where ${isAt('chosen', PENDING)}
        returning ${claimedColumns('o')}
      )
      select k.keyed_due, c.*
      from (select (${keyedDue(table)}) as keyed_due where ${CLAIM_SETTINGS} is not null) k
      left join claimed c on true`,
    values: [token, timeoutMs, limit, mayRetake, ...(after ? [after.availableAt, after.seq] : [])],
  };
}

/**
 * The same behind the last full batch, where a backlog is worked off: what it leaves out takes a sixth of the time of a
 * claim. No claim that expired is looked for, so nothing has to come alone; and where it finds nothing it tells nothing,
 * since another search follows.
 */
function claimBacklog(table: TableName, claim: UnkeyedClaim, { availableAt, seq }: DuePlace): SqlStatement {
  return {
    text: `
      with chosen as materialized (
        select ${PLACES}
        from (
          select tableoid, ctid
          from ${table}
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
      update ${table} as o
      set ${SET_CLAIM}
      where ${isAt('chosen', PENDING)}
      returning (${keyedDue(table)}) as keyed_due, ${claimedColumns('o')}`,
    values: [claim.token, claim.timeoutMs, claim.limit, availableAt, seq],
  };
}

/**
 * Whether rows with a key are due; null if not, since drivers spend their time on values. Asked of the first one by due
 * time, not by EXISTS: where many are pending, the planner answers that by reading the table from its beginning,
 * through all dispatched rows.
 */
function keyedDue(table: TableName): string {
  return `
        select nullif(available_at <= ${NOW}, false)
        from ${table}
        where ${PENDING} and key is not null
        order by available_at, seq
        limit 1`;
}

/** Said only where there is a place: as one condition for both cases, a plan for all parameters has no use of the index. */
export function isBehind(availableAt: string, seq: string): string {
  return `and (available_at, seq) > (timestamptz 'epoch' + ${availableAt}::bigint * interval '1 microsecond', ${seq}::bigint)`;
}

/** A number at its end, by an edit, must not fail the claim of all others. */
export const SET_CLAIM = `retakes = least(o.retakes, 2147483646) + (o.claimed_until is not null)::int,
          claim_token = $1, claimed_at = ${NOW}, claimed_until = ${nowPlusMs('$2')}`;

/**
 * After a claim whose result never came: it may have been committed. Reads all pending rows, which is the price of
 * having no index on the token, and is paid only here.
 */
export function releaseToken(table: TableName, token: string): SqlStatement {
  return {
    text: `update ${table} set ${END_CLAIM} where ${ALL_PENDING} and claim_token = $1`,
    values: [token],
  };
}

/**
 * An expired claim on a row with a key stays expired, even if nobody took that row: another owner may have claimed
 * other rows of the key since. So does one that is about to expire: while this statement commits, another owner may
 * still read the old end of it.
 */
export function extendClaim(
  table: TableName,
  token: string,
  ids: readonly string[],
  timeoutMs: number,
): SqlStatement {
  return {
    text: `
      update ${table}
      set claimed_until = ${nowPlusMs('$3')}
      where id = any ($1::varchar[]) and claim_token = $2 and ${PENDING}
        and (key is null or claimed_until > clock_timestamp() + $4::float8 * interval '1 millisecond')
      returning id`,
    values: [ids, token, timeoutMs, extendBeforeMs(timeoutMs)],
  };
}
