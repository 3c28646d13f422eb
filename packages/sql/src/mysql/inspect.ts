import type { OutboxState, RowFilter } from '@postcommit/core';
import type { SqlStatement } from '../sql-statement.js';
import type { TableName } from '../table-name.js';
import { epochMs, inOrder, NOW, PENDING, ROW_COLUMNS } from './columns.js';

/** The server has no other way to say it. */
const NO_LIMIT = '18446744073709551615';

const STATE: Readonly<Record<OutboxState, string>> = {
  pending: PENDING,
  dispatched: 'dispatched_at is not null',
  dead: 'dead_at is not null',
};

/** Each holds one kind of pending rows, in the order in which they fall due. */
const DUE_COLUMNS = ['due_at', 'keyed_due_at'];

export function count(table: TableName): SqlStatement {
  const pending = DUE_COLUMNS.map((column) => `(select count(*) from ${table} where ${column} is not null)`);
  return {
    text: `
      select
        ${pending.join(' + ')} + 0e0 as pending,
        (select count(*) from ${table} where ${STATE.dispatched}) + 0e0 as dispatched,
        (select count(*) from ${table} where ${STATE.dead}) + 0e0 as dead`,
    values: [],
  };
}

export function backlog(table: TableName, atMost: number | undefined): SqlStatement {
  const limit = atMost ?? NO_LIMIT;
  const counted = (condition: string): string =>
    DUE_COLUMNS.map(
      (column) =>
        `(select count(*) from (select 1 from ${table} where ${column} ${condition} limit ${limit}) counted)`,
    ).join(' + ');
  const first = DUE_COLUMNS.map((column) => `(select min(${column}) from ${table})`);
  const oldest = `least(coalesce(${first.join(', ')}), coalesce(${[...first].reverse().join(', ')}))`;
  return {
    text: `
      select
        least(${limit}, ${counted('is not null')}) + 0e0 as pending,
        least(${limit}, ${counted(`<= ${NOW}`)}) + 0e0 as due,
        greatest(0, coalesce(${epochMs(NOW)} - ${epochMs(oldest)}, 0)) as oldest_age_ms`,
    values: [],
  };
}

export function peek(table: TableName, filter: RowFilter, limit: number): SqlStatement {
  const { where, values } = conditions(filter);
  const select = `select ${ROW_COLUMNS} from ${table} where ${where}`;
  if (filter.state !== 'pending') {
    return {
      text: `${select} order by ${inOrder(table, ...ORDER[filter.state ?? 'any'])} limit ?`,
      values: [...values, limit],
    };
  }
  // Each kind in the order of its index: together they would be sorted, however many there are.
  const kinds = DUE_COLUMNS.map(
    (column) => `(${select} and ${column} is not null order by ${inOrder(table, column, 'seq')} limit ?)`,
  );
  return {
    text: `${kinds.join(' union all ')} order by available_at, seq limit ?`,
    values: [...values, limit, ...values, limit, limit],
  };
}

const ORDER: Readonly<Record<Exclude<OutboxState, 'pending'> | 'any', readonly string[]>> = {
  dispatched: ['dispatched_at desc', 'seq desc'],
  dead: ['dead_at desc', 'seq desc'],
  any: ['seq desc'],
};

/** The filter as a condition with parameters in its order. */
export function conditions(filter: RowFilter): { where: string; values: unknown[] } {
  const values: unknown[] = [];
  const parts = filter.state === undefined ? [] : [STATE[filter.state]];
  const add = (value: unknown, condition: string): void => {
    if (value === undefined) return;
    values.push(value instanceof Date ? value.getTime() : value);
    parts.push(condition);
  };
  add(filter.id, 'id = ?');
  add(filter.topic, 'topic = ?');
  add(filter.key, '`key` = ?');
  // Not LIKE: the characters % and _ of an error text mean themselves.
  add(filter.error, 'locate(?, last_error) > 0');
  add(filter.reason, 'dead_reason = ?');
  // A Date has milliseconds, the database microseconds: compare what the caller could see.
  add(filter.createdAfter, `floor(${epochMs('created_at')}) >= ?`);
  add(filter.createdBefore, `floor(${epochMs('created_at')}) < ?`);
  add(filter.deadAfter, `floor(${epochMs('dead_at')}) >= ?`);
  add(filter.deadBefore, `floor(${epochMs('dead_at')}) < ?`);
  return { where: parts.length === 0 ? 'true' : parts.join(' and '), values };
}
