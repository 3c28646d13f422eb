import type { OutboxState, RowFilter } from '@postcommit/core';
import type { SqlStatement } from '../sql-statement.js';
import type { TableName } from '../table-name.js';
import { ALL_PENDING, exactMs, NOW, PENDING, rowColumns } from './columns.js';

const STATE: Readonly<Record<OutboxState, string>> = {
  pending: ALL_PENDING,
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
  return {
    text: `
      select
        (select count(*) from ${table} where ${STATE.pending})::text as pending,
        (select count(*) from ${table} where ${STATE.dispatched})::text as dispatched,
        (select count(*) from ${table} where ${STATE.dead})::text as dead`,
    values: [],
  };
}

/**
 * Rows with and without a key are looked up apart, in the order of the index that holds their kind: the first is the
 * one that waits longest, and without the order the planner counts by reading the table, dispatched rows and all.
 */
export function backlog(table: TableName, atMost: number | undefined): SqlStatement {
  const waiting = (kind: string, more = ''): string =>
    `select available_at from ${table} where ${PENDING} and ${kind}${more} order by available_at, seq`;
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

export function peek(table: TableName, filter: RowFilter, limit: number): SqlStatement {
  const { where, values } = conditions(filter);
  return {
    text: `
      select ${rowColumns('o')}
      from ${table} as o
      where ${where}
      order by ${orderOf(filter)}
      limit $${values.length + 1}::int`,
    values: [...values, limit],
  };
}

function orderOf({ state }: RowFilter): string {
  return PEEK_ORDER[state ?? 'any'].replaceAll(/\b(available_at|dispatched_at|dead_at|seq)\b/g, 'o.$1');
}

/** The filter as a condition; values are parameters, numbered from 1. */
export function conditions(filter: RowFilter): { where: string; values: unknown[] } {
  const values: unknown[] = [];
  const parts = filter.state === undefined ? [] : [STATE[filter.state]];
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
  // A Date has milliseconds, the database microseconds: compare what the caller could see.
  add(filter.createdAfter, (value) => `date_trunc('milliseconds', created_at) >= ${value}::timestamptz`);
  add(filter.createdBefore, (value) => `date_trunc('milliseconds', created_at) < ${value}::timestamptz`);
  add(filter.deadAfter, (value) => `date_trunc('milliseconds', dead_at) >= ${value}::timestamptz`);
  add(filter.deadBefore, (value) => `date_trunc('milliseconds', dead_at) < ${value}::timestamptz`);
  return { where: parts.length === 0 ? 'true' : parts.join(' and '), values };
}
