import type { OutboxState, RowFilter } from '@postcommit/core';
import { type RowOrder, statesOf } from '@postcommit/core/internal';
import type { SqlStatement } from '../sql-statement.js';
import type { TableName } from '../table-name.js';
import { PENDING } from './columns.js';

/** The rows of one partial index, in the order of `time`. */
interface IndexedRows {
  readonly where: string;
  readonly time: string;
  /** Whether the index is also ordered by `seq`. */
  readonly hasSeq: boolean;
}

const KEYED: IndexedRows = {
  where: `${PENDING} and key is not null`,
  time: 'available_at',
  hasSeq: true,
};
const UNKEYED: IndexedRows = { ...KEYED, where: `${PENDING} and key is null` };

const INDEXED: Readonly<Record<OutboxState, readonly IndexedRows[]>> = {
  pending: [UNKEYED, KEYED],
  dispatched: [{ where: 'dispatched_at is not null', time: 'dispatched_at', hasSeq: false }],
  dead: [{ where: 'dead_at is not null', time: 'dead_at', hasSeq: false }],
};

/**
 * Returns the first matching rows, in the order in which they ended or fall due. Reads each index in its own order up to
 * the limit; with a single query for all, the planner would read and sort the whole table.
 */
export function pageOf(table: TableName, filter: RowFilter, limit: number, order: RowOrder): SqlStatement {
  const { and, values } = conditions(filter);
  const bound = `limit $${values.length + 1}::int`;
  const parts = statesOf(filter)
    .flatMap((state) => INDEXED[state])
    .filter((rows) => filter.key === undefined || rows !== UNKEYED)
    .map(
      (rows) =>
        `(select * from ${table.sql} where ${rows.where}${and} order by ${orderIn(rows, order)} ${bound})`,
    );
  // No state matches, e.g. a dead reason with pending rows. The parameters still need types.
  if (parts.length === 0) parts.push(`(select * from ${table.sql} where false${and} ${bound})`);
  return {
    text: `select o.* from (${parts.join(' union all ')}) as o order by ${listOrder(order)} ${bound}`,
    values: [...values, limit],
  };
}

/**
 * The oldest rows are the ones to requeue. If many ended at once, the limit must not split a key out of order, so they
 * are sorted by `seq`. The latest rows are only for display and come in index order.
 */
function orderIn({ time, hasSeq }: IndexedRows, order: RowOrder): string {
  if (order === 'oldest') return `${time}, seq`;
  return hasSeq ? `${time} desc, seq desc` : `${time} desc`;
}

/** The order by the time at which a row `o` ended or falls due. */
export function listOrder(order: RowOrder): string {
  const direction = order === 'oldest' ? 'asc' : 'desc';
  return `coalesce(o.dispatched_at, o.dead_at, o.available_at) ${direction}, o.seq ${direction}`;
}

/** The conditions of the filter besides the state; values are parameters, numbered from 1. */
export function conditions(filter: RowFilter): { and: string; values: unknown[] } {
  const values: unknown[] = [];
  const parts: string[] = [];
  const add = (value: unknown, condition: (parameter: string) => string): void => {
    if (value === undefined) return;
    values.push(value instanceof Date ? value.toISOString() : value);
    parts.push(condition(`$${values.length}`));
  };
  add(filter.id, (value) => `id = ${value}`);
  add(filter.topic, (value) => `topic = ${value}`);
  add(filter.key, (value) => `key = ${value}`);
  // Not LIKE: % and _ in an error text are literal.
  add(filter.error, (value) => `position(${value}::text in last_error) > 0`);
  add(filter.reason, (value) => `dead_reason = ${value}`);
  if (filter.exceptCancelled) parts.push(`dead_reason is distinct from 'cancelled'`);
  // Dates have milliseconds, the database microseconds: rounding down does not change a comparison with a whole ms.
  add(filter.createdAfter, (value) => `created_at >= ${value}::timestamptz`);
  add(filter.createdBefore, (value) => `created_at < ${value}::timestamptz`);
  add(filter.deadAfter, (value) => `dead_at >= ${value}::timestamptz`);
  add(filter.deadBefore, (value) => `dead_at < ${value}::timestamptz`);
  return { and: parts.map((part) => ` and ${part}`).join(''), values };
}
