import type { OutboxState, RowFilter } from '@postcommit/core';
import { type RowOrder, statesOf } from '@postcommit/core/internal';
import type { SqlStatement } from '../sql-statement.js';
import type { TableName } from '../table-name.js';
import { byIndex, inOrder, utcText } from './columns.js';

/** Rows whose `time` is not null, held by one index in the order of `time` and `seq`. */
interface IndexedRows {
  readonly time: string;
  readonly index: string;
}

const UNKEYED: IndexedRows = { time: 'due_at', index: '_due' };

export const INDEXED: Readonly<Record<OutboxState, readonly IndexedRows[]>> = {
  pending: [UNKEYED, { time: 'keyed_due_at', index: '_keyed_due' }],
  dispatched: [{ time: 'dispatched_at', index: '_dispatched' }],
  dead: [{ time: 'dead_at', index: '_dead' }],
};

/**
 * Returns the first matching rows, in the order in which they ended or fall due. Reads each index in its own order up to
 * the limit, and forces it: left to choose, the server may read and sort the whole table.
 */
export function pageOf(
  table: TableName,
  filter: RowFilter,
  limit: number,
  order: RowOrder,
  columns: string,
): SqlStatement {
  const { and, values } = conditions(filter);
  const direction = order === 'oldest' ? 'asc' : 'desc';
  const parts = statesOf(filter)
    .flatMap((state) => INDEXED[state])
    .filter((rows) => filter.key === undefined || rows !== UNKEYED)
    .map(
      ({ time, index }) => `(
        select ${columns}, ${time} as listed_at
        from ${byIndex(table, filter.id === undefined ? index : '_id')}
        where ${time} is not null${and}
        order by ${inOrder(table, `${time} ${direction}`, `seq ${direction}`)}
        limit ?)`,
    );
  // No state matches, e.g. a dead reason with pending rows.
  if (parts.length === 0) return { text: `select ${columns} from ${table.sql} where false`, values: [] };
  return {
    text: `${parts.join(' union all ')} order by listed_at ${direction}, seq ${direction} limit ?`,
    values: [...parts.flatMap(() => [...values, limit]), limit],
  };
}

/** The conditions of the filter besides the state, with parameters in their order. */
export function conditions(filter: RowFilter): { and: string; values: unknown[] } {
  const values: unknown[] = [];
  const parts: string[] = [];
  const add = (value: unknown, condition: string): void => {
    if (value === undefined) return;
    values.push(value instanceof Date ? utcText(value) : value);
    parts.push(condition);
  };
  add(filter.id, 'id = ?');
  add(filter.topic, 'topic = ?');
  add(filter.key, '`key` = ?');
  // Not LIKE: % and _ in an error text are literal.
  add(filter.error, 'locate(?, last_error) > 0');
  add(filter.reason, 'dead_reason = ?');
  if (filter.exceptCancelled) parts.push(`not (dead_reason <=> 'cancelled')`);
  // Dates have milliseconds, the database microseconds: rounding down does not change a comparison with a whole ms.
  add(filter.createdAfter, 'created_at >= ?');
  add(filter.createdBefore, 'created_at < ?');
  add(filter.deadAfter, 'dead_at >= ?');
  add(filter.deadBefore, 'dead_at < ?');
  return { and: parts.map((part) => ` and ${part}`).join(''), values };
}
