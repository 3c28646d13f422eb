import type { OutboxState, PurgeCut, RetryOptions } from '@postcommit/core';
import type { EndState, StateFilter } from '../dialect.js';
import type { SqlRecord, SqlStatement, SqlSteps } from '../sql-statement.js';
import type { TableName } from '../table-name.js';
import { isTrue, lockById } from './claim.js';
import {
  byIndex,
  byPrimaryKey,
  END_CLAIM,
  idRecords,
  list,
  NOW,
  PENDING,
  seqsOf,
  utcText,
} from './columns.js';
import { conditions, pageOf } from './page.js';

const RESET_ROW = `dispatched_at = null, dead_at = null, dead_reason = null, last_error = null,
        attempts = 0, retakes = 0, available_at = ${NOW}, ${END_CLAIM}`;

/**
 * A row that is still pending keeps its `seq`, and so its place in its key; one that has ended gets a new `seq`. The row
 * is locked first, so that a concurrent settle decides which of the two it is.
 */
export function requeue(table: TableName, id: string, retry: RetryOptions = {}): () => SqlSteps {
  return function* () {
    const found = yield lockForRequeue(byIndex(table, '_id'), 'id = ?', [id]);
    if (found.length === 0) return [];
    yield isTrue(found[0]?.waiting) ? resetRows(table, found, retry) : reinsertRows(table, found, retry);
    return idRecords(found);
  };
}

/**
 * Requeues the rows that ended first, in `seq` order, so that a key keeps its order. Finds them first, then locks them
 * one by one, if they still match.
 */
export function requeueWhere(
  table: TableName,
  filter: StateFilter,
  limit: number,
  retry: RetryOptions = {},
): () => SqlSteps {
  const { and, values } = conditions(filter);
  return function* () {
    const matches = yield pageOf(table, filter, limit, 'oldest', 'seq + 0e0 as seq');
    if (matches.length === 0) return [];
    const found = yield lockForRequeue(
      byPrimaryKey(table),
      `seq in (${list(matches)}) and ${STATE[filter.state]}${and}`,
      [...seqsOf(matches), ...values],
    );
    const waiting = found.filter((row) => isTrue(row.waiting));
    const ended = found.filter((row) => !isTrue(row.waiting));
    if (waiting.length > 0) yield resetRows(table, waiting, retry);
    if (ended.length > 0) yield reinsertRows(table, ended, retry);
    return idRecords(found);
  };
}

const STATE: Readonly<Record<OutboxState, string>> = {
  pending: PENDING,
  dispatched: 'dispatched_at is not null',
  dead: 'dead_at is not null',
};

function lockForRequeue(from: string, where: string, values: readonly unknown[]): SqlStatement {
  return {
    text: `select id, seq + 0e0 as seq, ${PENDING} as waiting from ${from} where ${where} for update`,
    values,
  };
}

/** The columns of a new policy. Omitted parts keep the row's values. */
function newPolicy({ maxAttempts, backoff }: RetryOptions): ReadonlyMap<string, unknown> {
  const given = new Map<string, unknown>();
  if (maxAttempts !== undefined) given.set('max_attempts', maxAttempts);
  if (backoff !== undefined) given.set('backoff', JSON.stringify(backoff));
  return given;
}

function resetRows(table: TableName, rows: readonly SqlRecord[], retry: RetryOptions): SqlStatement {
  const policy = newPolicy(retry);
  const set = [RESET_ROW, ...[...policy.keys()].map((column) => `${column} = ?`)].join(', ');
  return {
    text: `update ${byPrimaryKey(table)} set ${set} where seq in (${list(rows)})`,
    values: [...policy.values(), ...seqsOf(rows)],
  };
}

/** Deletes the row and inserts it again under its id, since only an insert gets the next `seq`. */
function reinsertRows(table: TableName, rows: readonly SqlRecord[], retry: RetryOptions): SqlStatement {
  const policy = newPolicy(retry);
  const kept = ['id', 'topic', 'payload', '`key`', 'headers', 'created_at', 'max_attempts', 'backoff'];
  return {
    text: `
      replace into ${table.sql} (${kept.join(', ')}, available_at)
      select ${kept.map((column) => (policy.has(column) ? '?' : column)).join(', ')}, ${NOW}
      from ${table.sql}
      where seq in (${list(rows)})
      order by seq`,
    values: [...policy.values(), ...seqsOf(rows)],
  };
}

export function discard(table: TableName, ids: readonly string[]): () => SqlSteps {
  return function* () {
    const found = yield lockById(table, ids, 'dead_at is not null');
    if (found.length > 0) yield deleteRows(table, found);
    return idRecords(found);
  };
}

/**
 * Deletes a page at a time to keep locks short. Finds rows first, then locks them by primary key, as everywhere. SKIP
 * LOCKED leaves rows that another sweeper or an operator holds to them.
 */
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
    const old = yield {
      text: `
        select seq + 0e0 as seq
        from ${byIndex(table, `_${state}`)}
        where ${where}
        order by ${endedAt}
        limit ?`,
      values: [...values, pageSize],
    };
    if (old.length === 0) return [{ deleted: 0 }];
    const locked = yield {
      text: `
        select seq + 0e0 as seq
        from ${byPrimaryKey(table)}
        where seq in (${list(old)}) and ${where}
        for update skip locked`,
      values: [...seqsOf(old), ...values],
    };
    if (locked.length > 0) yield deleteRows(table, locked);
    return [{ deleted: locked.length }];
  };
}

/** The cut is the place of a single row, even if many ended at the same time. */
function ended(
  table: TableName,
  endedAt: string,
  olderThan: PurgeCut,
  topic: string | undefined,
): { where: string; values: unknown[] } {
  const ofTopic = topic === undefined ? '' : ' and topic = ?';
  const topics = topic === undefined ? [] : [topic];
  if (olderThan instanceof Date)
    return { where: `${endedAt} < ?${ofTopic}`, values: [utcText(olderThan), ...topics] };
  if ('ageMs' in olderThan) {
    const cutoff = `${NOW} - interval (? * 1000) microsecond`;
    return { where: `${endedAt} < ${cutoff}${ofTopic}`, values: [olderThan.ageMs, ...topics] };
  }
  const latestFirst = `${endedAt} desc, seq desc limit 1 offset ?`;
  const place = `select ${endedAt}, seq from ${table.sql} where ${endedAt} is not null${ofTopic} order by ${latestFirst}`;
  return {
    where: `(${endedAt}, seq) <= (${place})${ofTopic}`,
    values: [...topics, olderThan.keepLatest, ...topics],
  };
}

function deleteRows(table: TableName, rows: readonly SqlRecord[]): SqlStatement {
  return { text: `delete from ${table.sql} where seq in (${list(rows)})`, values: seqsOf(rows) };
}
