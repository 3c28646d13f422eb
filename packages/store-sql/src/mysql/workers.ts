import { tokenPrefix, type WorkerReport } from '@postcommit/core/internal';
import { MAX_WAIT_MS, type WorkerStatements } from '../capability-statements.js';
import type { SqlRecord, SqlStatement, SqlSteps } from '../sql-statement.js';
import type { TableName } from '../table-name.js';
import {
  byIndex,
  byPrimaryKey,
  epochMicroseconds,
  inOrder,
  list,
  NOW,
  nowPlusMs,
  PENDING,
  seqsOf,
} from './columns.js';

const SIGHTING = `w.id, ${epochMicroseconds('w.last_seen')} as last_seen, ${ageMs('w.last_seen')} as age_ms,
        w.takeover_ms, w.lost_at is not null as is_lost, w.host, w.pid`;

/** The index and the column of each kind of pending rows. */
const KINDS: ReadonlyArray<readonly [index: string, column: string]> = [
  ['_due', 'due_at'],
  ['_keyed_due', 'keyed_due_at'],
];

export const workers: WorkerStatements = {
  register: (table, { id, host, pid, version, takeoverMs }, report) => ({
    text: `
      insert into ${table.quoted('_workers')}
        (id, host, pid, version, started_at, last_seen, takeover_ms, rows_in_flight, is_listening, outages)
      values (?, ?, ?, ?, ${NOW}, ${NOW}, ?, ?, ?, ?)
      on duplicate key update id = id`,
    values: [id, host, pid, version, takeoverMs, ...reportValues(report)],
  }),
  beat: (table, id, report) => [
    {
      text: `
        update ${table.quoted('_workers')}
        set last_seen = ${NOW}, rows_in_flight = ?, is_listening = ?, outages = ?
        where id = ? and lost_at is null`,
      values: [...reportValues(report), id],
    },
    {
      text: `
        select ${SIGHTING}
        from ${table.quoted('_workers')} own
        left join ${table.quoted('_workers')} w on w.id <> own.id
        where own.id = ? and own.lost_at is null`,
      values: [id],
    },
  ],
  declareLost: (table, id, lastSeen) =>
    function* () {
      const seen = yield {
        text: `
          select id from ${table.quoted('_workers')}
          where id = ? and lost_at is null and ${epochMicroseconds('last_seen')} = ?
          for update`,
        values: [id, lastSeen],
      };
      if (seen.length === 0) return [];
      yield { text: `update ${table.quoted('_workers')} set lost_at = ${NOW} where id = ?`, values: [id] };
      return seen;
    },
  endClaims: (table, id, pageSize) =>
    function* () {
      const [lost] = yield findLost(table, id);
      if (!lost) return [{ ended: 0 }];
      const held = heldBy(id, lost.takeover_ms);
      const found = yield* findRows(table, held, pageSize);
      if (found.length === 0) return [{ ended: 0 }];
      const locked = yield lockRows(table, held, found);
      if (locked.length > 0) yield endPage(table, locked, lost.takeover_ms);
      return [{ ended: locked.length }];
    },
  forgetLost: (table, id) =>
    function* () {
      const [lost] = yield findLost(table, id);
      if (!lost || (yield* findRows(table, heldBy(id, lost.takeover_ms), 1)).length > 0) return [];
      return yield { text: `delete from ${table.quoted('_workers')} where id = ?`, values: [id] };
    },
  remove: (table, id) => ({ text: `delete from ${table.quoted('_workers')} where id = ?`, values: [id] }),
  list: (table) => ({
    text: `
      select ${SIGHTING}, w.version, w.rows_in_flight, w.is_listening, w.outages,
        ${ageMs('w.started_at')} as started_age_ms
      from ${table.quoted('_workers')} w
      order by w.started_at, w.id`,
    values: [],
  }),
};

function reportValues({ rowsInFlight, isListening, outages }: WorkerReport): unknown[] {
  return [rowsInFlight, isListening ? 1 : 0, JSON.stringify(outages)];
}

/** Another session may have written the time after this statement began. */
function ageMs(time: string): string {
  return `greatest(0, timestampdiff(microsecond, ${time}, ${NOW})) / 1e3`;
}

function findLost(table: TableName, id: string): SqlStatement {
  return {
    text: `select takeover_ms from ${table.quoted('_workers')} where id = ? and lost_at is not null`,
    values: [id],
  };
}

/** Each time a row is retaken, it waits twice as long, so that a flapping host does not kill it off in minutes. */
const WAIT = `least(${MAX_WAIT_MS}, (pow(2, least(retakes, 31)) - 1) * ?)`;

/** The condition on rows with claims that are to end. */
function heldBy(id: string, takeoverMs: unknown): SqlStatement {
  const prefix = tokenPrefix(id);
  return {
    text: `left(claim_token, char_length(?)) = ? and claimed_until > ${nowPlusMs(WAIT)}`,
    values: [prefix, prefix, takeoverMs],
  };
}

/** Takes no locks: rows are locked by primary key only. The token has no index, so this reads all pending rows. */
function* findRows(table: TableName, held: SqlStatement, limit: number): SqlSteps {
  const found: SqlRecord[] = [];
  for (const [index, column] of KINDS) {
    if (found.length === limit) break;
    const rows = yield {
      text: `
        select seq + 0e0 as seq
        from ${byIndex(table, index)}
        where ${column} is not null and ${held.text}
        order by ${inOrder(table, column, 'seq')}
        limit ?`,
      values: [...held.values, limit - found.length],
    };
    found.push(...rows);
  }
  return found;
}

/** Skips rows that are locked, and those that changed since they were found. */
function lockRows(table: TableName, held: SqlStatement, rows: readonly SqlRecord[]): SqlStatement {
  return {
    text: `
      select seq + 0e0 as seq
      from ${byPrimaryKey(table)}
      where seq in (${list(rows)}) and ${PENDING} and ${held.text}
      for update skip locked`,
    values: [...seqsOf(rows), ...held.values],
  };
}

function endPage(table: TableName, rows: readonly SqlRecord[], takeoverMs: unknown): SqlStatement {
  return {
    text: `
      update ${byPrimaryKey(table)} set claimed_until = least(claimed_until, ${nowPlusMs(WAIT)})
      where seq in (${list(rows)})`,
    values: [takeoverMs, ...seqsOf(rows)],
  };
}
