import type { PurgeCut, RowFilter } from '@postcommit/core';
import type { EndState } from '../dialect.js';
import type { SqlRecord, SqlStatement, SqlSteps } from '../sql-statement.js';
import type { TableName } from '../table-name.js';
import { isTrue, lockById } from './claim.js';
import {
  byIndex,
  byPrimaryKey,
  END_CLAIM,
  idRecords,
  inOrder,
  list,
  NOW,
  PENDING,
  seqsOf,
  utcText,
} from './columns.js';
import { conditions } from './inspect.js';

const START_ANEW = `dispatched_at = null, dead_at = null, dead_reason = null, last_error = null,
        attempts = 0, retakes = 0, available_at = ${NOW}, ${END_CLAIM}`;

/**
 * What is still pending keeps its `seq`, and so its place in its key; what comes back from the end gets a new one.
 * The row is locked first: whoever settles it meanwhile decides which of the two it is.
 */
export function requeue(table: TableName, id: string): () => SqlSteps {
  return function* () {
    const found = yield lockForRequeue(byIndex(table, '_id'), 'id = ?', [id]);
    if (found.length === 0) return [];
    yield isTrue(found[0]?.waiting) ? startAnew(table, found) : comeBack(table, found);
    return idRecords(found);
  };
}

/** Oldest first, one after another, so that a key comes back in its old order. Found first, then locked one by one. */
export function requeueWhere(table: TableName, filter: RowFilter, limit: number): () => SqlSteps {
  const { where: matching, values } = conditions({ state: 'dead', ...filter });
  // Cancelled is the end, unless somebody asks for just that.
  const where = filter.reason === undefined ? `${matching} and not (dead_reason <=> 'cancelled')` : matching;
  return function* () {
    const matches = yield {
      text: `select seq + 0e0 as seq from ${table} where ${where} order by ${inOrder(table, 'seq')} limit ?`,
      values: [...values, limit],
    };
    if (matches.length === 0) return [];
    const found = yield lockForRequeue(byPrimaryKey(table), `seq in (${list(matches)}) and ${where}`, [
      ...seqsOf(matches),
      ...values,
    ]);
    const waiting = found.filter((row) => isTrue(row.waiting));
    const ended = found.filter((row) => !isTrue(row.waiting));
    if (waiting.length > 0) yield startAnew(table, waiting);
    if (ended.length > 0) yield comeBack(table, ended);
    return idRecords(found);
  };
}

function lockForRequeue(from: string, where: string, values: readonly unknown[]): SqlStatement {
  return {
    text: `select id, seq + 0e0 as seq, ${PENDING} as waiting from ${from} where ${where} for update`,
    values,
  };
}

function startAnew(table: TableName, rows: readonly SqlRecord[]): SqlStatement {
  return {
    text: `update ${byPrimaryKey(table)} set ${START_ANEW} where seq in (${list(rows)})`,
    values: seqsOf(rows),
  };
}

/** Stored again under its id: only an insert gets the next `seq` of the table. */
function comeBack(table: TableName, rows: readonly SqlRecord[]): SqlStatement {
  const kept = 'id, topic, payload, `key`, headers, created_at, max_attempts, backoff';
  return {
    text: `
      replace into ${table} (${kept}, available_at)
      select ${kept}, ${NOW}
      from ${table}
      where seq in (${list(rows)})
      order by seq`,
    values: seqsOf(rows),
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
 * A page at a time, so that no lock is held long; found first and locked by the primary key, as everywhere. SKIP LOCKED:
 * what another sweeper or an operator holds is left to them.
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

/** The place of the last row to go is that of one row, also where many ended at the same time. */
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
  const place = `select ${endedAt}, seq from ${table} where ${endedAt} is not null${ofTopic} order by ${latestFirst}`;
  return {
    where: `(${endedAt}, seq) <= (${place})${ofTopic}`,
    values: [...topics, olderThan.keepLatest, ...topics],
  };
}

function deleteRows(table: TableName, rows: readonly SqlRecord[]): SqlStatement {
  return { text: `delete from ${table} where seq in (${list(rows)})`, values: seqsOf(rows) };
}
