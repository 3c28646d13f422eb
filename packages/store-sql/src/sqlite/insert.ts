import type { NewRow } from '@postcommit/core';
import type { SqlStatement } from '../sql-statement.js';
import type { TableName } from '../table-name.js';
import { LIST, list, NOW } from './columns.js';

/** One parameter for any number of rows. ORDER BY makes `seq` follow the list. */
export function insert(table: TableName, rows: readonly NewRow[]): SqlStatement {
  return {
    text: `
      insert into ${table.sql} (id, topic, payload, key, headers, available_at, max_attempts, backoff, created_at)
      select e.value->>'id', e.value->>'topic', e.value->>'payload', e.value->>'key', e.value->>'headers',
        coalesce(e.value->>'availableAt', ${NOW}), e.value->>'maxAttempts', e.value->>'backoff', ${NOW}
      from json_each(?) as e
      order by e.key`,
    values: [list(rows.map(cells))],
  };
}

/** JSON is stored as text, so it is passed as text, and nothing parses or rewrites it on the way. */
function cells({ headers, availableAt, backoff, ...row }: NewRow): Record<string, unknown> {
  return {
    ...row,
    headers: headers && JSON.stringify(headers),
    availableAt: availableAt?.getTime(),
    backoff: backoff && JSON.stringify(backoff),
  };
}

export function findExisting(table: TableName, ids: readonly string[]): SqlStatement {
  return { text: `select id from ${table.sql} where id in ${LIST} limit 1`, values: [list(ids)] };
}
