import type { ExceptClaim } from '../dialect.js';
import type { SqlRecord, SqlStatement, SqlSteps } from '../sql-statement.js';
import type { TableName } from '../table-name.js';
import {
  aloneIfOrphaned,
  firstKeyedRow,
  isFirstKeyedDue,
  isFree,
  isTrue,
  lockRows,
  setClaim,
  withFirst,
} from './claim.js';
import { byIndex, epochMicroseconds, fromEpochMicroseconds, inOrder, list, NOW } from './columns.js';

/**
 * Claims the oldest due rows without a key, except those of some topics. The index does not know topics, so a search for
 * the others could walk through any number of rows; this one examines a window. As always, it finds rows without locks,
 * then locks them by primary key.
 */
export function claimUnkeyedExcept(table: TableName, claim: ExceptClaim): () => SqlSteps {
  return function* () {
    const window = yield keptAndLast(table, claim);
    const keyedDue = window[0]?.keyed_due ?? (yield firstKeyedRow(table))[0]?.is_due;
    const seen = { keyed_due: isTrue(keyedDue), ...windowSeen(window) };
    const locked = yield* lockOldest(
      table,
      claim,
      window.filter(({ is_kept }) => isTrue(is_kept)),
    );
    if (locked.length === 0) return [{ id: null, ...seen }];
    const claimed = aloneIfOrphaned(locked);
    yield setClaim(table, claim, claimed);
    return withFirst(claimed, seen);
  };
}

/** The server sends no rows that are left out, except where the window ends with one. */
function keptAndLast(table: TableName, claim: ExceptClaim): SqlStatement {
  const { after, window, exceptTopics } = claim;
  const start = fromEpochMicroseconds('?');
  const isBehind = after ? ` and due_at >= ${start} and (due_at > ${start} or seq > ?)` : '';
  const topics = padded(exceptTopics);
  return {
    text: `
      select seq + 0e0 as seq, ${epochMicroseconds('due_at')} as due_at, is_kept, window_rows,
        (${isFirstKeyedDue(table)}) as keyed_due
      from (
        select seq, due_at, is_kept, count(*) over () as window_rows,
          row_number() over (order by due_at, seq) as place
        from (
          select seq, due_at, topic not in (${list(topics)}) as is_kept
          from ${byIndex(table, '_due')}
          where due_at <= ${NOW} and (${isFree(claim)})${isBehind}
          order by ${inOrder(table, 'due_at', 'seq')}
          limit ?
        ) examined
      ) numbered
      where is_kept or place = window_rows
      order by place`,
    values: [...topics, ...(after ? [after.availableAt, after.availableAt, after.seq] : []), window],
  };
}

/** Repeats the last topic up to a power of two: a driver that prepares statements prepares one per text. */
function padded(topics: readonly string[]): readonly string[] {
  const length = 2 ** Math.ceil(Math.log2(topics.length));
  return Array.from({ length }, (_, place) => topics[Math.min(place, topics.length - 1)] ?? '');
}

function windowSeen(window: readonly SqlRecord[]): SqlRecord {
  const last = window.at(-1);
  return {
    window_rows: Number(last?.window_rows ?? 0),
    last_available_at: last?.due_at ?? null,
    last_seq: last?.seq ?? null,
  };
}

/** Rows that another dispatcher locks first are replaced by the next ones of the window. */
function* lockOldest(table: TableName, claim: ExceptClaim, kept: readonly SqlRecord[]): SqlSteps {
  const locked: SqlRecord[] = [];
  for (let tried = 0; tried < kept.length && locked.length < claim.limit; ) {
    const next = kept.slice(tried, tried + claim.limit - locked.length);
    tried += next.length;
    locked.push(...(yield lockRows(table, next, claim)));
  }
  return locked;
}
