import type { PurgeCut, RetryOptions } from '@postcommit/core';
import type { EndState, StateFilter } from '../dialect.js';
import type { SqlStatement } from '../sql-statement.js';
import type { TableName } from '../table-name.js';
import { END_CLAIM, isAt, NOW, PENDING, PLACES } from './columns.js';
import { STATE } from './inspect.js';
import { conditions, pageOf } from './page.js';

const RESET_ROW = `dispatched_at = null, dead_at = null, dead_reason = null, last_error = null,
        attempts = 0, retakes = 0, available_at = ${NOW}, ${END_CLAIM}`;

/** Omitted parts of a policy keep the row's values. Parameters are numbered from `first`. */
function newPolicy(
  { maxAttempts, backoff }: RetryOptions,
  first: number,
): { set: string; values: unknown[] } {
  const values: unknown[] = [];
  let set = '';
  if (maxAttempts !== undefined) set += `, max_attempts = $${first - 1 + values.push(maxAttempts)}::int`;
  if (backoff !== undefined) set += `, backoff = $${first - 1 + values.push(JSON.stringify(backoff))}::jsonb`;
  return { set, values };
}

/**
 * A row that is still pending keeps its `seq`, and so its place in its key; one that has ended gets a new `seq`. The row
 * is locked first, so that a concurrent settle decides which of the two it is.
 */
export function requeue(table: TableName, id: string, retry: RetryOptions = {}): SqlStatement {
  const policy = newPolicy(retry, 2);
  const reset = `update ${table.sql} as o set ${RESET_ROW}${policy.set}`;
  return {
    text: `
      with found as materialized (
        select id, ${PENDING} as waiting from ${table.sql} where id = $1 for update
      ), waiting as (
        ${reset} from found f where o.id = f.id and f.waiting returning o.id
      ), ended as (
        ${reset}, seq = default from found f where o.id = f.id and not f.waiting returning o.id
      )
      select id from waiting union all select id from ended`,
    values: [id, ...policy.values],
  };
}

/**
 * Requeues the rows that ended first, in `seq` order, so that a key keeps its order. Finds them first, then locks them
 * by id, as everywhere, if they still match.
 */
export function requeueWhere(
  table: TableName,
  filter: StateFilter,
  limit: number,
  retry: RetryOptions = {},
): SqlStatement {
  const page = pageOf(table, filter, limit, 'oldest');
  const policy = newPolicy(retry, page.values.length + 2);
  const keepsPlace = filter.state === 'pending';
  return {
    text: `
      with matching as materialized (
        ${page.text}
      ), chosen as materialized (
        select id, seq from ${table.sql}
        where id = any (array(select id from matching)) and ${STATE[filter.state]}${conditions(filter).and}
        order by id
        for update
      ), numbered as materialized (
        select c.id, nextval(pg_get_serial_sequence($${page.values.length + 1}, 'seq')) as seq
        from (select id from chosen order by seq) c
      )
      update ${table.sql} as o
      set ${RESET_ROW}${policy.set}${keepsPlace ? '' : ', seq = n.seq'}
      from numbered n
      where o.id = n.id
      returning o.id`,
    values: [...page.values, table.sql, ...policy.values],
  };
}

export function discard(table: TableName, ids: readonly string[]): SqlStatement {
  return {
    text: `delete from ${table.sql} where id = any ($1::varchar[]) and dead_at is not null returning id`,
    values: [ids],
  };
}

/** Whether a row `o` of this state is one of those that the CTE `old` locked. */
const IS_OLD: Readonly<Record<EndState, string>> = {
  dispatched: isAt('old', 'o.dispatched_at is not null'),
  dead: isAt('old', 'o.dead_at is not null'),
};

/** Deletes a page at a time to keep locks short. SKIP LOCKED lets two sweepers share the work. */
export function purgePage(
  table: TableName,
  state: EndState,
  olderThan: PurgeCut,
  pageSize: number,
  topic?: string,
): SqlStatement {
  const endedAt = `${state}_at`;
  const ofTopic = topic === undefined ? '' : ' and topic = $3';
  const cut = cutOf(
    olderThan,
    endedAt,
    `select ${endedAt}, seq from ${table.sql} where ${endedAt} is not null${ofTopic}`,
  );
  return {
    text: `
      with old as materialized (
        select ${PLACES}
        from (
          select tableoid, ctid from ${table.sql}
          where ${endedAt} is not null and ${cut.isOlder}${ofTopic}
          order by ${endedAt}
          limit $2::int
          for update skip locked
        ) page
      ), deleted as (
        delete from ${table.sql} as o
        where ${IS_OLD[state]}
        returning 1
      )
      select count(*)::int as deleted from deleted`,
    values: [cut.value, pageSize, ...(topic === undefined ? [] : [topic])],
  };
}

/** Compared with `$1`. The cut is the place of a single row, even if many ended at the same time. */
function cutOf(olderThan: PurgeCut, endedAt: string, ended: string): { isOlder: string; value: unknown } {
  if (olderThan instanceof Date)
    return { isOlder: `${endedAt} < $1::timestamptz`, value: olderThan.toISOString() };
  if ('ageMs' in olderThan)
    return { isOlder: `${endedAt} < ${NOW} - $1::float8 * interval '1 millisecond'`, value: olderThan.ageMs };
  const place = `${ended} order by ${endedAt} desc, seq desc offset $1::bigint limit 1`;
  return { isOlder: `(${endedAt}, seq) <= (${place})`, value: olderThan.keepLatest };
}
