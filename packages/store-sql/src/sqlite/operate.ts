import type { PurgeCut, RetryOptions } from '@postcommit/core';
import type { EndState, StateFilter } from '../dialect.js';
import type { SqlStatement, SqlSteps } from '../sql-statement.js';
import type { TableName } from '../table-name.js';
import { END_CLAIM, LIST, list, NOW, PENDING } from './columns.js';
import { pageOf } from './page.js';

const RESET_ROW = `dispatched_at = null, dead_at = null, dead_reason = null, last_error = null,
        attempts = 0, retakes = 0, available_at = ${NOW}, ${END_CLAIM}`;

/** Omitted parts of a policy keep the row's values. */
function newPolicy({ maxAttempts, backoff }: RetryOptions): { set: string; values: unknown[] } {
  const cells: ReadonlyArray<readonly [column: string, value: unknown]> = [
    ['max_attempts', maxAttempts],
    ['backoff', backoff && JSON.stringify(backoff)],
  ];
  const given = cells.filter(([, value]) => value !== undefined);
  return {
    set: given.map(([column]) => `, ${column} = ?`).join(''),
    values: given.map(([, value]) => value),
  };
}

/**
 * A row that is still pending keeps its `seq`, and so its place in its key; one that has ended gets a new `seq` behind
 * all others. The next insert continues after that, since AUTOINCREMENT also considers the largest existing number.
 */
export function requeue(table: TableName, id: string, retry: RetryOptions = {}): SqlStatement {
  const policy = newPolicy(retry);
  return {
    text: `
      update ${table.sql}
      set ${RESET_ROW}${policy.set},
        seq = case when ${PENDING} then seq else (select max(seq) + 1 from ${table.sql}) end
      where id = ?
      returning id`,
    values: [...policy.values, id],
  };
}

/** Requeues the rows that ended first, in `seq` order, so that a key keeps its order. */
export function requeueWhere(
  table: TableName,
  filter: StateFilter,
  limit: number,
  retry: RetryOptions = {},
): SqlStatement {
  const page = pageOf(table, filter, limit, 'oldest', 'id, seq');
  const policy = newPolicy(retry);
  return {
    text: `
      update ${table.sql} as o
      set ${RESET_ROW}${policy.set},
        seq = case when ${PENDING} then o.seq else n.tail end
      from (
        select id, (select max(seq) from ${table.sql}) + row_number() over (order by seq) as tail
        from (${page.text})
      ) as n
      where o.id = n.id
      returning id`,
    values: [...policy.values, ...page.values],
  };
}

export function discard(table: TableName, ids: readonly string[]): SqlStatement {
  return {
    text: `delete from ${table.sql} where id in ${LIST} and dead_at is not null returning id`,
    values: [list(ids)],
  };
}

/** Deletes a page at a time, so that other writers can run in between. */
export function purgePage(
  table: TableName,
  state: EndState,
  olderThan: PurgeCut,
  pageSize: number,
  topic?: string,
): () => SqlSteps {
  const endedAt = `${state}_at`;
  const { where, values } = ended(table, endedAt, olderThan, topic);
  return function* () {
    const deleted = yield {
      text: `
      delete from ${table.sql}
      where seq in (
        select seq from ${table.sql}
        where ${where}
        order by ${endedAt}
        limit ?
      )
      returning seq`,
      values: [...values, pageSize],
    };
    return [{ deleted: deleted.length }];
  };
}

/** The cut is the place of a single row, even if many ended at the same time. */
function ended(
  table: TableName,
  endedAt: string,
  olderThan: PurgeCut,
  topic: string | undefined,
): { where: string; values: unknown[] } {
  const all = `${endedAt} is not null${topic === undefined ? '' : ' and topic = ?'}`;
  const topics = topic === undefined ? [] : [topic];
  if (olderThan instanceof Date)
    return { where: `${all} and ${endedAt} < ?`, values: [...topics, olderThan.getTime()] };
  if ('ageMs' in olderThan)
    return { where: `${all} and ${endedAt} < ${NOW} - ?`, values: [...topics, olderThan.ageMs] };
  const place = `select ${endedAt}, seq from ${table.sql} where ${all} order by ${endedAt} desc, seq desc limit 1 offset ?`;
  return {
    where: `${all} and (${endedAt}, seq) <= (${place})`,
    values: [...topics, ...topics, olderThan.keepLatest],
  };
}
