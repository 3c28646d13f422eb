import type { OutboxState, RowFilter } from '@postcommit/core';
import { orderOf, type RowOrder, statesOf } from '@postcommit/core/internal';
import type { SqlStatement } from '../sql-statement.js';
import type { TableName } from '../table-name.js';
import { KINDS, NOW, PENDING, ROW_COLUMNS } from './columns.js';
import { conditions, pageOf } from './page.js';

const STATE: Readonly<Record<OutboxState, string>> = {
  pending: PENDING,
  dispatched: 'dispatched_at is not null',
  dead: 'dead_at is not null',
};

/** Each count reads the partial indexes that hold its rows. */
export function count(table: TableName, filter: RowFilter = {}): SqlStatement {
  const { and, values } = conditions(filter);
  const states = statesOf(filter);
  const used: unknown[] = [];
  const rows = (state: OutboxState): string => {
    if (!states.includes(state)) return '0';
    const kinds = state === 'pending' ? KINDS : ['true'];
    used.push(...kinds.flatMap(() => values));
    return kinds
      .map((kind) => `(select count(*) from ${table.sql} where ${STATE[state]} and ${kind}${and})`)
      .join(' + ');
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

/** Reads rows with and without a key separately, each in the order of its index. */
export function backlog(table: TableName, atMost = Number.MAX_SAFE_INTEGER): SqlStatement {
  const waiting = (kind: string, more = ''): string =>
    `select available_at from ${table.sql} where ${PENDING} and ${kind}${more} order by available_at, seq limit ?`;
  const rows = (more = ''): string =>
    KINDS.map((kind) => `(select count(*) from (${waiting(kind, more)}))`).join(' + ');
  const first = KINDS.map((kind) => `select available_at from (${waiting(kind)})`).join(' union all ');
  return {
    text: `
      select
        min(?, ${rows()}) as pending,
        min(?, ${rows(` and available_at <= ${NOW}`)}) as due,
        (select coalesce(max(0, ${NOW} - min(available_at)), 0) from (${first})) as oldest_age_ms`,
    values: [atMost, atMost, atMost, atMost, atMost, atMost, 1, 1],
  };
}

/** Reads one index entry of each kind: the first behind the rows that are due. */
export function lookAhead(table: TableName): SqlStatement {
  const first = KINDS.map(
    (kind) => `
        select * from (
          select available_at from ${table.sql}
          where ${PENDING} and ${kind} and available_at > ${NOW}
          order by available_at, seq
          limit 1
        )`,
  );
  return {
    text: `
      select min(available_at) - ${NOW} as in_ms, ${NOW} as now_ms, null as topic from (${first.join(' union all ')})
      union all
      select null, null, topic from ${table.quoted('_paused')}`,
    values: [],
  };
}

/** Reads the partial index of dead rows. */
export function countDead(table: TableName, limit: number): SqlStatement {
  return {
    text: `
      select topic, dead_reason as reason, count(*) as dead
      from ${table.sql}
      where dead_at is not null
      group by topic, dead_reason
      order by count(*) desc, topic, dead_reason
      limit ?`,
    values: [limit],
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
