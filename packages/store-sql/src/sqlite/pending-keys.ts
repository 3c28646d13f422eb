import type { SqlStatement } from '../sql-statement.js';
import type { TableName } from '../table-name.js';
import { PENDING } from './columns.js';

/** Goes from key to key in the index, past all rows of each. */
export function pendingKeys(table: TableName, after: string | undefined, limit: number): SqlStatement {
  const next = (isNext: string): string =>
    `select o.key from ${table.sql} o where ${PENDING} and ${isNext} order by o.key, o.seq limit 1`;
  return {
    text: `
      with recursive k (key) as (
        select (${next(after === undefined ? 'o.key is not null' : 'o.key > ?')})
        union all
        select (${next('o.key > k.key')}) from k where k.key is not null
      )
      select key from k where key is not null limit ?`,
    values: after === undefined ? [limit] : [after, limit],
  };
}
