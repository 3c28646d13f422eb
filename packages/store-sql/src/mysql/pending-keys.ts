import type { SqlStatement, SqlSteps } from '../sql-statement.js';
import type { TableName } from '../table-name.js';
import { byIndex, inOrder } from './columns.js';

/** Index entries read per step, each of which goes past all rows of its last key. */
const ENTRIES = 100;
const MAX_STEPS = 10;

/**
 * Goes through the index in steps, past all rows of each key. A server could do so by itself (DISTINCT, or a recursive
 * query), but whether it does depends on its statistics; otherwise it reads all rows of a key.
 */
export function pendingKeys(table: TableName, after: string | undefined, limit: number): () => SqlSteps {
  return function* () {
    const keys = new Set<string>();
    let last = after;
    for (let step = 0; step < MAX_STEPS && keys.size < limit; step++) {
      const entries = yield nextEntries(table, last);
      for (const { key } of entries) keys.add(String(key));
      if (entries.length < ENTRIES) break;
      last = String(entries.at(-1)?.key);
    }
    return [...keys].slice(0, limit).map((key) => ({ key }));
  };
}

function nextEntries(table: TableName, after: string | undefined): SqlStatement {
  return {
    text: `
      select pending_key as \`key\`
      from ${byIndex(table, '_keyed')}
      where pending_key ${after === undefined ? 'is not null' : '> ?'}
      order by ${inOrder(table, 'pending_key', 'seq')}
      limit ${ENTRIES}`,
    values: after === undefined ? [] : [after],
  };
}
