import type { OutboxState, RowFilter } from '@postcommit/core';
import { orderOf, type RowOrder, statesOf } from '@postcommit/core/internal';
import type { SqlStatement } from '../sql-statement.js';
import type { TableName } from '../table-name.js';
import { byIndex, epochMs, inOrder, NOW, ROW_COLUMNS } from './columns.js';
import { conditions, INDEXED, pageOf } from './page.js';

/** The largest LIMIT, since the server has no way to say "all". */
const NO_LIMIT = '18446744073709551615';

/** Each holds one kind of pending rows, in due order. */
const DUE_COLUMNS = ['due_at', 'keyed_due_at'];

export function count(table: TableName, filter: RowFilter = {}): SqlStatement {
  const { and, values } = conditions(filter);
  const states = statesOf(filter);
  const used: unknown[] = [];
  const rows = (state: OutboxState): string => {
    const parts = states.includes(state) ? INDEXED[state] : [];
    used.push(...parts.flatMap(() => values));
    const counts = parts.map(
      ({ time }) => `(select count(*) from ${table.sql} where ${time} is not null${and})`,
    );
    return ['0e0', ...counts].join(' + ');
  };
  return {
    text: `
      select
        ${rows('pending')} as pending,
        ${rows('dispatched')} as dispatched,
        ${rows('dead')} as dead`,
    values: used,
  };
}

export function backlog(table: TableName, atMost: number | undefined): SqlStatement {
  const limit = atMost ?? NO_LIMIT;
  const counted = (condition: string): string =>
    DUE_COLUMNS.map(
      (column) =>
        `(select count(*) from (select 1 from ${table.sql} where ${column} ${condition} limit ${limit}) counted)`,
    ).join(' + ');
  const first = DUE_COLUMNS.map((column) => `(select min(${column}) from ${table.sql})`);
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

/** Reads one index entry of each kind: the first behind the rows that are due. */
export function lookAhead(table: TableName): SqlStatement {
  const first = (column: string, index: string): string => `(
          select ${column} from ${byIndex(table, index)}
          where ${column} > ${NOW}
          order by ${inOrder(table, column, 'seq')}
          limit 1
        )`;
  const unkeyed = first('due_at', '_due');
  const keyed = first('keyed_due_at', '_keyed_due');
  return {
    text: `
      select least(coalesce(unkeyed, keyed), coalesce(keyed, unkeyed)) as in_ms, ${epochMs(NOW)} as now_ms, null as topic
      from (select ${msUntil(unkeyed)} as unkeyed, ${msUntil(keyed)} as keyed) waits
      union all
      select null, null, topic from ${table.quoted('_paused')}`,
    values: [],
  };
}

function msUntil(time: string): string {
  return `timestampdiff(microsecond, ${NOW}, ${time}) / 1e3`;
}

export function countDead(table: TableName, limit: number): SqlStatement {
  return {
    text: `
      select topic, dead_reason as reason, count(*) + 0e0 as dead
      from ${byIndex(table, '_dead')}
      where dead_at is not null
      group by topic, dead_reason
      order by count(*) desc, topic, dead_reason
      limit ${limit}`,
    values: [],
  };
}

export function peek(
  table: TableName,
  filter: RowFilter,
  limit: number,
  order: RowOrder = orderOf(filter),
): SqlStatement {
  return pageOf(table, filter, limit, order, ROW_COLUMNS);
}
