import type { PurgeCut, RowFilter } from '@postcommit/core';
import type { EndState } from '../dialect.js';
import type { SqlStatement } from '../sql-statement.js';
import type { TableName } from '../table-name.js';
import { END_CLAIM, isAt, NOW, PENDING, PLACES } from './columns.js';
import { conditions } from './inspect.js';

const START_ANEW = `dispatched_at = null, dead_at = null, dead_reason = null, last_error = null,
        attempts = 0, retakes = 0, available_at = ${NOW}, ${END_CLAIM}`;

/**
 * What is still pending keeps its `seq`, and so its place in its key; what comes back from the end gets a new one.
 * The row is locked first: whoever settles it meanwhile decides which of the two it is.
 */
export function requeue(table: TableName, id: string): SqlStatement {
  return {
    text: `
      with found as materialized (
        select id, ${PENDING} as waiting from ${table} where id = $1 for update
      ), waiting as (
        update ${table} as o set ${START_ANEW} from found f where o.id = f.id and f.waiting returning o.id
      ), ended as (
        update ${table} as o set ${START_ANEW}, seq = default from found f where o.id = f.id and not f.waiting returning o.id
      )
      select id from waiting union all select id from ended`,
    values: [id],
  };
}

/** Oldest first, one after another, so that a key comes back in its old order. */
export function requeueWhere(table: TableName, filter: RowFilter, limit: number): SqlStatement {
  const { where: matching, values } = conditions({ state: 'dead', ...filter });
  // Cancelled is the end, unless somebody asks for just that.
  const where =
    filter.reason === undefined ? `${matching} and dead_reason is distinct from 'cancelled'` : matching;
  const keepsPlace = filter.state === 'pending';
  return {
    text: `
      with chosen as materialized (
        select id, seq from ${table} where ${where} order by seq limit $${values.length + 1}::int for update
      ), numbered as materialized (
        select c.id, nextval(pg_get_serial_sequence($${values.length + 2}, 'seq')) as seq
        from (select id from chosen order by seq) c
      )
      update ${table} as o
      set ${START_ANEW}${keepsPlace ? '' : ', seq = n.seq'}
      from numbered n
      where o.id = n.id
      returning o.id`,
    values: [...values, limit, table.quoted()],
  };
}

export function discard(table: TableName, ids: readonly string[]): SqlStatement {
  return {
    text: `delete from ${table} where id = any ($1::varchar[]) and dead_at is not null returning id`,
    values: [ids],
  };
}

/** A page at a time, so that no lock is held long; SKIP LOCKED, so that two sweepers share the work. */
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
    `select ${endedAt}, seq from ${table} where ${endedAt} is not null${ofTopic}`,
  );
  return {
    text: `
      with old as materialized (
        select ${PLACES}
        from (
          select tableoid, ctid from ${table}
          where ${endedAt} is not null and ${cut.isOlder}${ofTopic}
          order by ${endedAt}
          limit $2::int
          for update skip locked
        ) page
      ), deleted as (
        delete from ${table} as o
        where ${isAt('old', `o.${endedAt} is not null`)}
        returning 1
      )
      select count(*)::int as deleted from deleted`,
    values: [cut.value, pageSize, ...(topic === undefined ? [] : [topic])],
  };
}

/** Compared with `$1`. The place of the last row to go is that of one row, also where many ended at the same time. */
function cutOf(olderThan: PurgeCut, endedAt: string, ended: string): { isOlder: string; value: unknown } {
  if (olderThan instanceof Date)
    return { isOlder: `${endedAt} < $1::timestamptz`, value: olderThan.toISOString() };
  if ('ageMs' in olderThan)
    return { isOlder: `${endedAt} < ${NOW} - $1::float8 * interval '1 millisecond'`, value: olderThan.ageMs };
  const place = `${ended} order by ${endedAt} desc, seq desc offset $1::bigint limit 1`;
  return { isOlder: `(${endedAt}, seq) <= (${place})`, value: olderThan.keepLatest };
}
