import type { SqlStatement, SqlSteps } from '../sql-statement.js';
import type { TableName } from '../table-name.js';
import { list, PENDING } from './columns.js';

/**
 * Returns the keys of a window without a claimable row, and those of rows in flight: these are not in the window, but
 * their claims may end when the search is behind them.
 */
export function* blockedKeys(table: TableName, ofWindow: readonly string[]): SqlSteps<readonly string[]> {
  const inFlight = yield {
    text: `select distinct claimed_key as key from ${table.sql} where claimed_key is not null`,
    values: [],
  };
  return [...new Set([...ofWindow, ...inFlight.map(({ key }) => String(key))])];
}

/** Returns those of these keys that have no pending row. */
export function* emptyKeys(table: TableName, keys: readonly string[]): SqlSteps<readonly string[]> {
  if (keys.length === 0) return [];
  const empty = yield keysWithoutRow(table, keys);
  return empty.map(({ key }) => String(key));
}

function keysWithoutRow(table: TableName, keys: readonly string[]): SqlStatement {
  return {
    text: `
      select k.value as key
      from json_each(?) k
      where not exists (select 1 from ${table.sql} where key = k.value and ${PENDING})`,
    values: [list(keys)],
  };
}
