import { isKept, keptOf } from '../claim/kept-rows.js';
import { blockedSeen, shareOf, windowSeen } from '../claim/key-share.js';
import { type KeyedClaim, KeyedLockTimeout } from '../dialect.js';
import type { SqlRecord, SqlStatement, SqlSteps } from '../sql-statement.js';
import type { TableName } from '../table-name.js';
import { aloneIfOrphaned, isTrue, lockRows, setClaim, withFirst } from './claim.js';
import { blockedKeys } from './claim-blocked.js';
import { byIndex, epochMicroseconds, fromEpochMicroseconds, inOrder, list, NOW } from './columns.js';
import { faultOf, isLockTimeout } from './faults.js';

/** Keys looked up per statement. */
const KEYS_PER_QUERY = 100;
/** A row in the table of job locks. */
const LOCK_NAME = 'postcommit: keyed claims';

/**
 * Claims rows with a key. A key is free while none of its rows, older or younger, has a live claim. This rule depends on
 * rows that we don't lock, so it must be evaluated after every earlier keyed claim has committed. Hence all keyed claims
 * lock one row first; in READ COMMITTED, each later statement sees what was committed before.
 */
export function claimKeyed(table: TableName, claim: KeyedClaim): () => SqlSteps {
  return function* () {
    yield* lockKeyedClaims(table, claim.lockWaitMs);
    const window = yield dueWindow(table, claim);
    const keys = keysOf(claim, window);
    const { rows, emptyKeys } = yield* lockFreeKeys(table, claim, keys);
    if (rows.length === 0) {
      const blocked = window.length === claim.window ? yield* blockedKeys(table, keys) : [];
      return [{ id: null, ...windowSeen(window), ...blockedSeen(blocked, emptyKeys) }];
    }
    yield setClaim(table, claim, rows, true);
    return withFirst(rows, { window_rows: window.length });
  };
}

/** Only roles with a grant on the table can lock the row; even so, the wait is bounded. */
function* lockKeyedClaims(table: TableName, waitMs: number): SqlSteps {
  try {
    const isLocked = yield lockRow(table, waitMs);
    return isLocked.length === 0 ? yield makeLock(table) : isLocked;
  } catch (error) {
    const isTooLong = isLockTimeout(error) || faultOf(error) === 'too slow';
    throw isTooLong ? new KeyedLockTimeout(error) : error;
  }
}

/** Where MariaDB reads a comment, MySQL, which can't bound the wait for a lock, has a hint that bounds the statement. */
function lockRow(table: TableName, waitMs: number): SqlStatement {
  const wait = waitMs < 1_000 ? 'nowait' : `/*M! wait ${Math.round(waitMs / 1_000)} */`;
  return {
    text: `select /*+ max_execution_time(${waitMs}) */ name from ${table.quoted('_locks')} where name = ? for update ${wait}`,
    values: [LOCK_NAME],
  };
}

/** Inserts the row the first time. This locks it too, and so does a concurrent second insert. */
function makeLock(table: TableName): SqlStatement {
  return {
    text: `
      insert into ${table.quoted('_locks')} (name, token, locked_until)
      values (?, '', ${NOW})
      on duplicate key update name = name`,
    values: [LOCK_NAME],
  };
}

/** Rows that are left out count, to bound the walk, but their keys are not looked up. */
function dueWindow(table: TableName, { after, window, exceptTopics }: KeyedClaim): SqlStatement {
  const start = fromEpochMicroseconds('?');
  const isBehind = after ? ` and keyed_due_at >= ${start} and (keyed_due_at > ${start} or seq > ?)` : '';
  return {
    text: `
      select \`key\`, ${exceptTopics ? 'topic, ' : ''}${epochMicroseconds('keyed_due_at')} as available_at, cast(seq as char) as seq
      from ${byIndex(table, '_keyed_due')}
      where keyed_due_at <= ${NOW} and (claimed_until is null or claimed_until <= ${NOW})${isBehind}
      order by ${inOrder(table, 'keyed_due_at', 'seq')}
      limit ?`,
    values: [...(after ? [after.availableAt, after.availableAt, after.seq] : []), window],
  };
}

/** Parked ones first, then in due order. */
function keysOf(claim: KeyedClaim, window: readonly SqlRecord[]): string[] {
  return [...new Set([...claim.parked, ...keptOf(window, claim).map(({ key }) => String(key))])];
}

interface Found {
  readonly rows: readonly SqlRecord[];
  /** The keys without a pending row. */
  readonly emptyKeys: readonly string[];
}

/**
 * Locks the oldest rows of each free key, up to the first that is not due or left out. Rows locked by someone else (an operator who
 * requeues, a late settle) are skipped, and with them all later rows of their key.
 */
function* lockFreeKeys(table: TableName, claim: KeyedClaim, keys: readonly string[]): SqlSteps<Found> {
  if (keys.length === 0) return { rows: [], emptyKeys: [] };
  const busy = new Set((yield busyKeys(table, keys)).map(({ claimed_key }) => claimed_key));
  const free = keys.filter((key) => !busy.has(key));
  const prefixes = yield* duePrefixes(table, claim, free, shareOf(claim, keys.length));
  if (prefixes.rows.length === 0) return prefixes;
  const locks = yield lockRows(table, prefixes.rows, claim);
  const locked = new Map(locks.map((row) => [Number(row.seq), row]));
  return { ...prefixes, rows: aloneIfOrphaned(unbroken(prefixes.rows, locked)) };
}

/** `claimed_key` repeats the key on claimed rows only, so live claims are found without reading the key's backlog. */
function busyKeys(table: TableName, keys: readonly string[]): SqlStatement {
  return {
    text: `
      select distinct claimed_key
      from ${byIndex(table, '_claimed_key')}
      where claimed_key in (${list(keys)}) and claimed_until > ${NOW}`,
    values: [...keys],
  };
}

/** Takes key by key, in due order, until there are enough rows. */
function* duePrefixes(
  table: TableName,
  claim: KeyedClaim,
  keys: readonly string[],
  share: number,
): SqlSteps<Found> {
  const rows: SqlRecord[] = [];
  const emptyKeys: string[] = [];
  for (let start = 0; start < keys.length && rows.length < claim.limit; start += KEYS_PER_QUERY) {
    const looked = keys.slice(start, start + KEYS_PER_QUERY);
    const byKey = groupedByKey(yield oldestRows(table, looked, share, claim));
    for (const key of looked) {
      const oldest = byKey.get(key);
      if (oldest) rows.push(...claimablePrefix(oldest, claim));
      else emptyKeys.push(key);
    }
  }
  return { rows: rows.slice(0, claim.limit), emptyKeys };
}

/** With a limit per key, the cost depends on the rows returned, not on how many wait behind them. */
function oldestRows(
  table: TableName,
  keys: readonly string[],
  share: number,
  { exceptTopics }: KeyedClaim,
): SqlStatement {
  const oldest = `
      (select \`key\`, ${exceptTopics ? 'topic, ' : ''}seq + 0e0 as seq, available_at <= ${NOW} as is_due, claimed_until is not null as orphaned
      from ${byIndex(table, '_keyed')}
      where pending_key = ?
      order by ${inOrder(table, 'seq')}
      limit ${share})`;
  return { text: keys.map(() => oldest).join(' union all '), values: [...keys] };
}

function groupedByKey(rows: readonly SqlRecord[]): Map<string, SqlRecord[]> {
  const byKey = new Map<string, SqlRecord[]>();
  for (const row of [...rows].sort((a, b) => Number(a.seq) - Number(b.seq))) {
    const key = String(row.key);
    const group = byKey.get(key);
    if (group) group.push(row);
    else byKey.set(key, [row]);
  }
  return byKey;
}

/** Takes rows up to the first that is not due or left out. Only the first can have an expired claim. */
function claimablePrefix(rows: readonly SqlRecord[], claim: KeyedClaim): readonly SqlRecord[] {
  const end = rows.findIndex(
    (row, position) =>
      !isTrue(row.is_due) ||
      !isKept(row, claim) ||
      (isTrue(row.orphaned) && (position > 0 || !claim.mayRetake)),
  );
  const due = end < 0 ? rows : rows.slice(0, end);
  return isTrue(due[0]?.orphaned) ? due.slice(0, 1) : due;
}

function unbroken(rows: readonly SqlRecord[], locked: ReadonlyMap<number, SqlRecord>): readonly SqlRecord[] {
  const broken = new Set<unknown>();
  const taken: SqlRecord[] = [];
  for (const { key, seq } of rows) {
    const row = locked.get(Number(seq));
    if (!row) broken.add(key);
    else if (!broken.has(key)) taken.push(row);
  }
  return taken;
}
