import type { OutboxState, RowFilter } from '@postcommit/core';
import { type RowOrder, statesOf } from '@postcommit/core/internal';
import type { SqlStatement } from '../sql-statement.js';
import type { TableName } from '../table-name.js';
import { PENDING } from './columns.js';

/** The rows of one partial index, in the order of `time` and `seq`. */
interface IndexedRows {
  readonly where: string;
  readonly time: string;
}

const KEYED: IndexedRows = { where: `${PENDING} and key is not null`, time: 'available_at' };
const UNKEYED: IndexedRows = { where: `${PENDING} and key is null`, time: 'available_at' };

const INDEXED: Readonly<Record<OutboxState, readonly IndexedRows[]>> = {
  pending: [UNKEYED, KEYED],
  dispatched: [{ where: 'dispatched_at is not null', time: 'dispatched_at' }],
  dead: [{ where: 'dead_at is not null', time: 'dead_at' }],
};

/**
 * Returns the first matching rows, in the order in which they ended or fall due. Reads each index in its own order up to
 * the limit; with a single query for all, SQLite would read and sort every row.
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
      ({ where, time }) =>
        `select * from (
          select ${columns}, ${time} as listed_at from ${table.sql} where ${where}${and}
          order by ${time} ${direction}, seq ${direction} limit ?
        )`,
    );
  // No state matches, e.g. a dead reason with pending rows.
  if (parts.length === 0) return { text: `select ${columns} from ${table.sql} where false`, values: [] };
  return {
    text: `
      select * from (${parts.join(' union all ')})
      order by listed_at ${direction}, seq ${direction}
      limit ?`,
    values: [...parts.flatMap(() => [...values, limit]), limit],
  };
}

/** The conditions of the filter besides the state; values are parameters, in their order. */
export function conditions(filter: RowFilter): { and: string; values: unknown[] } {
  const values: unknown[] = [];
  const parts: string[] = [];
  const add = (value: string | Date | undefined, condition: string): void => {
    if (value === undefined) return;
    values.push(value instanceof Date ? value.getTime() : value);
    parts.push(condition);
  };
  add(filter.id, 'id = ?');
  add(filter.topic, 'topic = ?');
  add(filter.key, 'key = ?');
  // Not LIKE: it ignores case, and % and _ in an error text are literal.
  add(filter.error, 'instr(last_error, ?) > 0');
  add(filter.reason, 'dead_reason = ?');
  if (filter.exceptCancelled) parts.push(`dead_reason is not 'cancelled'`);
  add(filter.createdAfter, 'created_at >= ?');
  add(filter.createdBefore, 'created_at < ?');
  add(filter.deadAfter, 'dead_at >= ?');
  add(filter.deadBefore, 'dead_at < ?');
  return { and: parts.map((part) => ` and ${part}`).join(''), values };
}
