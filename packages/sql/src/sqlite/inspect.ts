import type { OutboxState, RowFilter } from '@postcommit/core';
import type { SqlStatement } from '../sql-statement.js';
import type { TableName } from '../table-name.js';
import { KINDS, NOW, PENDING, ROW_COLUMNS } from './columns.js';

const STATE: Readonly<Record<OutboxState, string>> = {
  pending: PENDING,
  dispatched: 'dispatched_at is not null',
  dead: 'dead_at is not null',
};

const PEEK_ORDER: Readonly<Record<OutboxState | 'any', string>> = {
  pending: 'available_at, seq',
  dispatched: 'dispatched_at desc, seq desc',
  dead: 'dead_at desc, seq desc',
  any: 'seq desc',
};

/** Each count reads the partial indexes that hold its rows. */
export function count(table: TableName): SqlStatement {
  const rows = (condition: string): string => `(select count(*) from ${table} where ${condition})`;
  return {
    text: `
      select
        ${KINDS.map((kind) => rows(`${PENDING} and ${kind}`)).join(' + ')} as pending,
        ${rows(STATE.dispatched)} as dispatched,
        ${rows(STATE.dead)} as dead`,
    values: [],
  };
}

/** Rows with and without a key are looked up apart, in the order of the index that holds their kind. */
export function backlog(table: TableName, atMost = Number.MAX_SAFE_INTEGER): SqlStatement {
  const waiting = (kind: string, more = ''): string =>
    `select available_at from ${table} where ${PENDING} and ${kind}${more} order by available_at, seq limit ?`;
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

export function peek(table: TableName, filter: RowFilter, limit: number): SqlStatement {
  const { where, values } = conditions(filter);
  const kinds = filter.state === 'pending' ? KINDS : ['true'];
  const rows = kinds.map((kind) => `select ${ROW_COLUMNS} from ${table} where ${where} and ${kind}`);
  return {
    text: `
      ${rows.join(' union all ')}
      order by ${PEEK_ORDER[filter.state ?? 'any']}
      limit ?`,
    values: [...kinds.flatMap(() => values), limit],
  };
}

/** The filter as a condition; values are parameters, in their order. */
export function conditions(filter: RowFilter): { where: string; values: unknown[] } {
  const values: unknown[] = [];
  const parts = filter.state === undefined ? [] : [STATE[filter.state]];
  const add = (value: string | Date | undefined, condition: string): void => {
    if (value === undefined) return;
    values.push(value instanceof Date ? value.getTime() : value);
    parts.push(condition);
  };
  add(filter.id, 'id = ?');
  add(filter.topic, 'topic = ?');
  add(filter.key, 'key = ?');
  // Not LIKE: that takes no notice of case, and the characters % and _ of an error text mean themselves.
  add(filter.error, 'instr(last_error, ?) > 0');
  add(filter.reason, 'dead_reason = ?');
  add(filter.createdAfter, 'created_at >= ?');
  add(filter.createdBefore, 'created_at < ?');
  add(filter.deadAfter, 'dead_at >= ?');
  add(filter.deadBefore, 'dead_at < ?');
  return { where: parts.length === 0 ? 'true' : parts.join(' and '), values };
}
