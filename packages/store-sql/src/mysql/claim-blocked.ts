import type { SqlStatement, SqlSteps } from '../sql-statement.js';
import type { TableName } from '../table-name.js';
import { byIndex } from './columns.js';

/**
 * Returns the keys of a window without a claimable row, and those of rows in flight: these are not in the window, but
 * their claims may end when the search is behind them. A row that was released since the window was read is left to the
 * sweep.
 */
export function* blockedKeys(table: TableName, ofWindow: readonly string[]): SqlSteps<readonly string[]> {
  const inFlight = yield claimedKeys(table);
  return [...new Set([...ofWindow, ...inFlight.map(({ claimed_key }) => String(claimed_key))])];
}

function claimedKeys(table: TableName): SqlStatement {
  return {
    text: `
      select distinct claimed_key
      from ${byIndex(table, '_claimed_key')}
      where claimed_key is not null`,
    values: [],
  };
}
