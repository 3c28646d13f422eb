import type { NewRow } from '@postcommit/core';
import type { SqlStatement } from '../sql-statement.js';
import type { TableName } from '../table-name.js';
import { NOW } from './columns.js';

/**
 * One statement for any number of rows. WITH ORDINALITY makes `seq` follow the list. What few rows have travels in
 * one JSON column, so that the common case sends three arrays.
 */
export function insert(table: TableName, rows: readonly NewRow[]): SqlStatement {
  return {
    text: `
      insert into ${table} (id, topic, payload, key, headers, available_at, max_attempts, backoff, created_at)
      select e.id, e.topic, e.payload::jsonb, e.options->>'key', e.options->'headers',
        coalesce((e.options->>'availableAt')::timestamptz, ${NOW}),
        (e.options->>'maxAttempts')::int, e.options->'backoff', ${NOW}
      from (
        select u.id, u.topic, u.payload, u.options::jsonb as options, u.place
        from unnest($1::varchar[], $2::varchar[], $3::text[], $4::text[])
          with ordinality as u(id, topic, payload, options, place)
      ) e
      order by e.place`,
    values: [
      rows.map(({ id }) => id),
      rows.map(({ topic }) => topic),
      rows.map(({ payload }) => payload),
      rows.map(optionsText),
    ],
  };
}

export function findExisting(table: TableName, ids: readonly string[]): SqlStatement {
  return { text: `select id from ${table} where id = any ($1::varchar[]) limit 1`, values: [ids] };
}

function optionsText({ key, headers, availableAt, maxAttempts, backoff }: NewRow): string {
  if (key ?? headers ?? availableAt ?? maxAttempts ?? backoff) {
    return JSON.stringify({ key, headers, availableAt, maxAttempts, backoff });
  }
  return '{}';
}
