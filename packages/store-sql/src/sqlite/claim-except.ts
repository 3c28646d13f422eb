import { keptOf } from '../claim/kept-rows.js';
import { windowSeen } from '../claim/key-share.js';
import type { ExceptClaim } from '../dialect.js';
import type { SqlStatement, SqlSteps } from '../sql-statement.js';
import type { TableName } from '../table-name.js';
import { aloneIfOrphaned, claimRows, firstKeyedRow } from './claim.js';
import { flag, IS_BEHIND, NOW, PENDING, placeValues } from './columns.js';

/**
 * Claims the oldest due rows without a key, except those of some topics. The index does not know topics, so a search for
 * the others could walk through any number of rows; this one examines a window.
 */
export function claimUnkeyedExcept(table: TableName, claim: ExceptClaim): () => SqlSteps {
  return function* () {
    const window = yield dueWindow(table, claim);
    const [first] = yield firstKeyedRow(table);
    const seen = { keyed_due: first?.is_due === 1, ...windowSeen(window) };
    const rows = aloneIfOrphaned(keptOf(window, claim).slice(0, claim.limit));
    if (rows.length === 0) return [{ id: null, ...seen }];
    const claimed = yield claimRows(table, claim, rows);
    return claimed.map((row) => ({ ...row, ...seen }));
  };
}

function dueWindow(table: TableName, { mayRetake, after, window }: ExceptClaim): SqlStatement {
  return {
    text: `
      select topic, available_at * 1000 as available_at, seq, claimed_until is not null as orphaned
      from ${table.sql} o
      where ${PENDING} and key is null and available_at <= ${NOW}
        and (claimed_until is null or (? and claimed_until <= ${NOW}))${after ? IS_BEHIND : ''}
      order by o.available_at, o.seq
      limit ?`,
    values: [flag(mayRetake), ...placeValues(after), window],
  };
}
