import type { OutboxState, RowFilter } from '@postcommit/core';
import { orderOf, type RowOrder, statesOf } from '@postcommit/core/internal';
import type { SqlStatement } from '../sql-statement.js';
import type { TableName } from '../table-name.js';
import { ALL_PENDING, exactMs, NOW, PENDING, ROW_COLUMNS } from './columns.js';
import { conditions, listOrder, pageOf } from './page.js';

export const STATE: Readonly<Record<OutboxState, string>> = {
  pending: ALL_PENDING,
  dispatched: 'dispatched_at is not null',
  dead: 'dead_at is not null',
};

/** Each count reads the partial indexes that hold its rows. */
export function count(table: TableName, filter: RowFilter = {}): SqlStatement {
  const { and, values } = conditions(filter);
  const states = statesOf(filter);
  const rows = (state: OutboxState): string =>
    states.includes(state) ? `(select count(*) from ${table.sql} where ${STATE[state]}${and})` : '0';
  return {
    text: `
      select
        ${rows('pending')}::text as pending,
        ${rows('dispatched')}::text as dispatched,
        ${rows('dead')}::text as dead`,
    values: states.length === 0 ? [] : values,
  };
}

/**
 * Reads rows with and without a key separately, each in the order of its index: the first row has waited longest, and
 * without the order the planner counts by scanning the whole table, dispatched rows included.
 */
export function backlog(table: TableName, atMost: number | undefined): SqlStatement {
  const waiting = (kind: string, more = ''): string =>
    `select available_at from ${table.sql} where ${PENDING} and ${kind}${more} order by available_at, seq`;
  const count = (more = ''): string =>
    ['key is null', 'key is not null']
      .map((kind) => `(select count(*) from (${waiting(kind, more)} limit $1::bigint) counted)`)
      .join(' + ');
  const first = (kind: string): string => `(${waiting(kind)} limit 1)`;
  return {
    text: `
      select
        least($1::bigint, ${count()})::text as pending,
        least($1::bigint, ${count(` and available_at <= ${NOW}`)})::text as due,
        ${exactMs(`greatest(interval '0', ${NOW} - least(${first('key is null')}, ${first('key is not null')}))`)} as oldest_age_ms`,
    values: [atMost ?? null],
  };
}

/** Reads one index entry of each kind: the first behind the rows that are due. */
export function lookAhead(table: TableName): SqlStatement {
  const first = ['key is null', 'key is not null'].map(
    (kind) => `(
          select available_at from ${table.sql}
          where ${PENDING} and ${kind} and available_at > ${NOW}
          order by available_at, seq
          limit 1
        )`,
  );
  return {
    text: `
      select ${exactMs(`least(${first.join(', ')}) - ${NOW}`)} as in_ms, ${exactMs(NOW)} as now_ms, null as topic
      union all
      select null, null, topic from ${table.quoted('_paused')}`,
    values: [],
  };
}

/** Reads the partial index of dead rows. */
export function countDead(table: TableName, limit: number): SqlStatement {
  return {
    text: `
      select topic, dead_reason as reason, count(*)::text as dead
      from ${table.sql}
      where dead_at is not null
      group by topic, dead_reason
      order by count(*) desc, topic, dead_reason
      limit $1::int`,
    values: [limit],
  };
}

export function peek(
  table: TableName,
  filter: RowFilter,
  limit: number,
  order: RowOrder = orderOf(filter),
): SqlStatement {
  const { text, values } = pageOf(table, filter, limit, order);
  return { text: `select ${ROW_COLUMNS} from (${text}) as o order by ${listOrder(order)}`, values };
}
