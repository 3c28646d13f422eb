import { type Claim, type DuePlace, extendBeforeMs, type UnkeyedClaim } from '../dialect.js';
import type { SqlRecord, SqlStatement, SqlSteps } from '../sql-statement.js';
import type { TableName } from '../table-name.js';
import {
  byIndex,
  byPrimaryKey,
  CLAIMABLE_COLUMNS,
  END_CLAIM,
  epochMicroseconds,
  fromEpochMicroseconds,
  idRecords,
  inOrder,
  list,
  NOW,
  nowPlusMs,
  PENDING,
  seqsOf,
} from './columns.js';

/** Maximum pages searched while others claim the same rows; the rest waits for the next claim. */
const MAX_PAGES = 8;

/**
 * Claims the oldest due rows without a key. Finds them without locks, then locks them by primary key only. A locking
 * search would also lock the index entry of every row that it passes, including claimed ones. A settle of those rows
 * would wait for us while it may hold rows that we are about to read: a deadlock, even with SKIP LOCKED. Rows that
 * another dispatcher locks first are replaced from the next page.
 *
 * A row whose claim expired may have crashed its owner, so it is claimed alone and can't take other rows down with it.
 */
export function claimUnkeyed(table: TableName, claim: UnkeyedClaim): () => SqlSteps {
  return function* () {
    const locked: SqlRecord[] = [];
    let keyedDue: boolean | undefined;
    let { after } = claim;
    for (let pages = 0; pages < MAX_PAGES && locked.length < claim.limit; pages++) {
      const wanted = claim.limit - locked.length;
      const page = yield duePage(table, claim, wanted, after);
      if (page.length === 0) break;
      keyedDue ??= isTrue(page[0]?.keyed_due);
      locked.push(...(yield lockRows(table, page, claim)));
      if (page.length < wanted) break;
      after = endOf(page);
    }
    keyedDue ??= isTrue((yield firstKeyedRow(table))[0]?.is_due);
    if (locked.length === 0) return [{ id: null, keyed_due: keyedDue }];
    const claimed = aloneIfOrphaned(locked);
    yield setClaim(table, claim, claimed);
    return withFirst(claimed, { keyed_due: keyedDue });
  };
}

function duePage(table: TableName, claim: Claim, limit: number, after: DuePlace | undefined): SqlStatement {
  const start = fromEpochMicroseconds('?');
  const isBehind = after ? ` and due_at >= ${start} and (due_at > ${start} or seq > ?)` : '';
  return {
    text: `
      select seq + 0e0 as seq, ${epochMicroseconds('due_at')} as due_at, (${isFirstKeyedDue(table)}) as keyed_due
      from ${byIndex(table, '_due')}
      where due_at <= ${NOW} and (${isFree(claim)})${isBehind}
      order by ${inOrder(table, 'due_at', 'seq')}
      limit ?`,
    values: [...(after ? [after.availableAt, after.availableAt, after.seq] : []), limit],
  };
}

export function endOf(page: readonly SqlRecord[]): DuePlace {
  const last = page.at(-1);
  return { availableAt: String(last?.due_at), seq: String(last?.seq) };
}

/** Skips rows that changed since they were found. */
export function lockRows(table: TableName, rows: readonly SqlRecord[], claim: Claim): SqlStatement {
  return {
    text: `
      select ${CLAIMABLE_COLUMNS}
      from ${byPrimaryKey(table)}
      where seq in (${list(rows)}) and ${PENDING} and available_at <= ${NOW} and (${isFree(claim)})
      for update skip locked`,
    values: seqsOf(rows),
  };
}

export function isFree({ mayRetake }: Claim): string {
  return mayRetake ? `claimed_until is null or claimed_until <= ${NOW}` : 'claimed_until is null';
}

/** They may all be blocked or left out: then the keyed claim that follows finds none. */
export const isFirstKeyedDue = (table: TableName): string => `
        select keyed_due_at <= ${NOW}
        from ${byIndex(table, '_keyed_due')}
        where keyed_due_at is not null
        order by keyed_due_at, seq
        limit 1`;

export function firstKeyedRow(table: TableName): SqlStatement {
  return { text: `select (${isFirstKeyedDue(table)}) as is_due`, values: [] };
}

/** Sets the claim on locked rows. */
export function setClaim(
  table: TableName,
  claim: Claim,
  rows: readonly SqlRecord[],
  withKey = false,
): SqlStatement {
  return {
    text: `
      update ${byPrimaryKey(table)}
      set retakes = least(retakes, 2147483646) + (claimed_until is not null),
        claim_token = ?, claimed_at = ${NOW}, claimed_until = ${nowPlusMs('?')}${withKey ? ', claimed_key = `key`' : ''}
      where seq in (${list(rows)})`,
    values: [claim.token, claim.timeoutMs, ...seqsOf(rows)],
  };
}

export function aloneIfOrphaned(rows: readonly SqlRecord[]): readonly SqlRecord[] {
  const orphan = rows.find(({ orphaned }) => isTrue(orphaned));
  return orphan ? [orphan] : rows;
}

/** Adds what the claim saw to the first row, without copying the others, which can be many. */
export function withFirst([first, ...rest]: readonly SqlRecord[], seen: SqlRecord): SqlRecord[] {
  const retakes = Number(first?.retakes) + (isTrue(first?.orphaned) ? 1 : 0);
  return [{ ...first, ...seen, retakes }, ...rest];
}

/** The server has no boolean type. */
export function isTrue(value: unknown): boolean {
  return Number(value) === 1;
}

/** Reads all pending rows: the token has no index, and only this statement pays for that. */
export function releaseToken(table: TableName, token: string): () => SqlSteps {
  return function* () {
    const claimed = yield {
      text: `select seq + 0e0 as seq from ${table.sql} where ${PENDING} and claim_token = ?`,
      values: [token],
    };
    if (claimed.length === 0) return [];
    yield {
      text: `
        update ${byPrimaryKey(table)} set ${END_CLAIM}
        where seq in (${list(claimed)}) and ${PENDING} and claim_token = ?`,
      values: [...seqsOf(claimed), token],
    };
    return [];
  };
}

/**
 * An expired claim on a row with a key stays expired, even if nobody took that row: another owner may have claimed other
 * rows of the key since. The same goes for one about to expire: until this commits, another owner may still read the old
 * expiry. Checked in a separate statement, since the time of the first one may be older than its locks.
 */
export function extendClaim(
  table: TableName,
  token: string,
  ids: readonly string[],
  timeoutMs: number,
): () => SqlSteps {
  return function* () {
    const ours = yield lockById(table, ids, `${PENDING} and claim_token = ?`, [token]);
    if (ours.length === 0) return [];
    const alive = yield {
      text: `
        select id, seq + 0e0 as seq
        from ${byPrimaryKey(table)}
        where seq in (${list(ours)}) and (\`key\` is null or claimed_until > ${nowPlusMs('?')})`,
      values: [...seqsOf(ours), extendBeforeMs(timeoutMs)],
    };
    if (alive.length === 0) return [];
    yield {
      text: `update ${byPrimaryKey(table)} set claimed_until = ${nowPlusMs('?')} where seq in (${list(alive)})`,
      values: [timeoutMs, ...seqsOf(alive)],
    };
    return idRecords(alive);
  };
}

/** All statements lock in id order, which prevents deadlocks. */
export function lockById(
  table: TableName,
  ids: readonly string[],
  condition: string,
  values: readonly unknown[] = [],
): SqlStatement {
  return {
    text: `
      select id, seq + 0e0 as seq
      from ${byIndex(table, '_id')}
      where id in (${list(ids)}) and ${condition}
      for update`,
    values: [...ids, ...values],
  };
}
