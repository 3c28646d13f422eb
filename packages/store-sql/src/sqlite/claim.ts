import type { Claim, UnkeyedClaim } from '../dialect.js';
import type { SqlRecord, SqlStatement, SqlSteps } from '../sql-statement.js';
import type { TableName } from '../table-name.js';
import {
  CLAIMED_COLUMNS,
  END_CLAIM,
  flag,
  IS_BEHIND,
  KINDS,
  LIST,
  list,
  NOW,
  nowPlusMs,
  PENDING,
  placeValues,
} from './columns.js';

/**
 * Claims the oldest due rows without a key. Needs no row locks: BEGIN IMMEDIATE admits one writer to the whole database,
 * so no other claim runs at the same time.
 *
 * A row whose claim expired may have crashed its owner, so it is claimed alone and can't take other rows down with it.
 */
export function claimUnkeyed(table: TableName, claim: UnkeyedClaim): () => SqlSteps {
  return function* () {
    const claimed = yield claimDueRows(table, claim);
    const [first] = yield firstKeyedRow(table);
    const seen = { keyed_due: first?.is_due === 1 };
    return claimed.length === 0 ? [{ id: null, ...seen }] : claimed.map((row) => ({ ...row, ...seen }));
  };
}

function claimDueRows(table: TableName, claim: UnkeyedClaim): SqlStatement {
  return {
    text: `
      with due as materialized (
        select seq, available_at, claimed_until is not null as orphaned
        from ${table.sql}
        where ${PENDING} and key is null
          and available_at <= ${NOW}
          and (claimed_until is null or (? and claimed_until <= ${NOW}))${claim.after ? IS_BEHIND : ''}
        order by available_at, seq
        limit ?
      )
      update ${table.sql}
      set ${SET_CLAIM}
      where seq in (
        select seq from (select seq from due where orphaned order by available_at, seq limit 1)
        union all
        select seq from due where not exists (select 1 from due where orphaned)
      )
      returning ${CLAIMED_COLUMNS}`,
    values: [flag(claim.mayRetake), ...placeValues(claim.after), claim.limit, claim.token, claim.timeoutMs],
  };
}

const SET_CLAIM = `retakes = min(retakes, 2147483646) + (claimed_until is not null),
        claim_token = ?, claimed_at = ${NOW}, claimed_until = ${nowPlusMs('?')}`;

/** It may be blocked or left out, as may all others: then the keyed claim that follows finds none. */
export function firstKeyedRow(table: TableName): SqlStatement {
  return {
    text: `
      select available_at <= ${NOW} as is_due
      from ${table.sql}
      where ${PENDING} and key is not null
      order by available_at, seq
      limit 1`,
    values: [],
  };
}

export function claimRows(table: TableName, claim: Claim, seqs: readonly unknown[]): SqlStatement {
  return {
    text: `
      update ${table.sql}
      set ${SET_CLAIM}
      where seq in ${LIST}
      returning ${CLAIMED_COLUMNS}`,
    values: [claim.token, claim.timeoutMs, list(seqs)],
  };
}

/** `claimed_key` repeats the key on claimed rows only and is indexed, to find the live claims of a key. */
export function claimRowsOfKeys(table: TableName, claim: Claim, seqs: readonly unknown[]): SqlStatement {
  return {
    text: `
      update ${table.sql}
      set ${SET_CLAIM}, claimed_key = key
      where seq in ${LIST}
      returning ${CLAIMED_COLUMNS}`,
    values: [claim.token, claim.timeoutMs, list(seqs)],
  };
}

/** A row whose claim expired may have crashed its owner, so it is claimed alone. Returns `seq`s. */
export function aloneIfOrphaned(rows: readonly SqlRecord[]): unknown[] {
  const orphan = rows.find(({ orphaned }) => orphaned === 1);
  return (orphan ? [orphan] : rows).map(({ seq }) => seq);
}

/** Used after a claim whose response was lost, since it may have been committed. */
export function releaseToken(table: TableName, token: string): SqlStatement {
  const pending = KINDS.map((kind) => `select seq from ${table.sql} where ${PENDING} and ${kind}`);
  return {
    text: `
      update ${table.sql}
      set ${END_CLAIM}
      where seq in (${pending.join(' union all ')}) and claim_token = ?`,
    values: [token],
  };
}

/**
 * An expired claim on a row with a key stays expired, even if nobody took that row: another owner may have claimed
 * other rows of the key since.
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
      set claimed_until = ${nowPlusMs('?')}
      where id in ${LIST} and claim_token = ? and ${PENDING}
        and (key is null or claimed_until > ${NOW})
      returning id`,
    values: [timeoutMs, list(ids), token],
  };
}
