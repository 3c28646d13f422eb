import { type OutboxState, type RowFilter, type RowOrder, statesOf } from '@postcommit/core';
import type { SqlStatement } from '../sql-statement.js';
import type { TableName } from '../table-name.js';
import { PENDING } from './columns.js';

/** Rows that one partial index holds, in the order of `time`. */
interface IndexedRows {
  readonly where: string;
  readonly time: string;
  /** The index is ordered by `seq` as well. */
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
 * The first rows that match, in the order in which they ended or fall due. Each index is read in its own order up to the
 * limit: asked for all at once, the planner reads and sorts every row of the table.
 */
export function pageOf(table: TableName, filter: RowFilter, limit: number, order: RowOrder): SqlStatement {
  const { and, values } = conditions(filter);
  const bound = `limit $${values.length + 1}::int`;
  const parts = statesOf(filter)
    .flatMap((state) => INDEXED[state])
    .filter((rows) => filter.key === undefined || rows !== UNKEYED)
    .map(
      (rows) =>
        `(select * from ${table} where ${rows.where}${and} order by ${orderIn(rows, order)} ${bound})`,
    );
  // No state fits, e.g. a reason of pending rows. The parameters need their types all the same.
  if (parts.length === 0) parts.push(`(select * from ${table} where false${and} ${bound})`);
  return {
    text: `select o.* from (${parts.join(' union all ')}) as o order by ${listOrder(order)} ${bound}`,
    values: [...values, limit],
  };
}

/**
 * The oldest rows are those to requeue: where many ended at once, the limit must not cut through a key, so those are
 * sorted by `seq`. The latest are there to look at, and are taken as the index has them.
 */
function orderIn({ time, hasSeq }: IndexedRows, order: RowOrder): string {
  if (order === 'oldest') return `${time}, seq`;
  return hasSeq ? `${time} desc, seq desc` : `${time} desc`;
}

/** By the time at which a row ended or falls due; the rows are called `o`. */
export function listOrder(order: RowOrder): string {
  const direction = order === 'oldest' ? 'asc' : 'desc';
  return `coalesce(o.dispatched_at, o.dead_at, o.available_at) ${direction}, o.seq ${direction}`;
}

/** What the filter asks for besides the state, as further conditions; values are parameters, numbered from 1. */
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
  // Not LIKE: the characters % and _ of an error text mean themselves.
  add(filter.error, (value) => `position(${value}::text in last_error) > 0`);
  add(filter.reason, (value) => `dead_reason = ${value}`);
  if (filter.exceptCancelled) parts.push(`dead_reason is distinct from 'cancelled'`);
  // A Date has milliseconds, the database microseconds: at a whole millisecond, rounding down changes no comparison.
  add(filter.createdAfter, (value) => `created_at >= ${value}::timestamptz`);
  add(filter.createdBefore, (value) => `created_at < ${value}::timestamptz`);
  add(filter.deadAfter, (value) => `dead_at >= ${value}::timestamptz`);
  add(filter.deadBefore, (value) => `dead_at < ${value}::timestamptz`);
  return { and: parts.map((part) => ` and ${part}`).join(''), values };
}
