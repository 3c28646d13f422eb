import { tokenPrefix, type WorkerReport } from '@postcommit/core/internal';
import { MAX_WAIT_MS, type WorkerStatements } from '../capability-statements.js';
import type { SqlStatement } from '../sql-statement.js';
import type { TableName } from '../table-name.js';
import { flag, KINDS, NOW, nowPlusMs, PENDING } from './columns.js';

const SIGHTING = `w.id, w.last_seen, max(0, ${NOW} - w.last_seen) as age_ms, w.takeover_ms,
        w.lost_at is not null as is_lost, w.host, w.pid`;

/** Each time a row is retaken, it waits twice as long, so that a flapping host does not kill it off in minutes. */
const UNTIL = nowPlusMs(`min(${MAX_WAIT_MS}, ((1 << min(retakes, 31)) - 1) * ?)`);

export const workers: WorkerStatements = {
  register: (table, { id, host, pid, version, takeoverMs }, report) => ({
    text: `
      insert into ${table.quoted('_workers')}
        (id, host, pid, version, started_at, last_seen, takeover_ms, rows_in_flight, is_listening, outages)
      values (?, ?, ?, ?, ${NOW}, ${NOW}, ?, ?, ?, ?)
      on conflict (id) do nothing`,
    values: [id, host, pid, version, takeoverMs, ...reportValues(report)],
  }),
  /** Two heartbeats in the same millisecond must differ. */
  beat: (table, id, report) => [
    {
      text: `
        update ${table.quoted('_workers')}
        set last_seen = max(${NOW}, last_seen + 1), rows_in_flight = ?, is_listening = ?, outages = ?
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
  declareLost: (table, id, lastSeen) => ({
    text: `
      update ${table.quoted('_workers')}
      set lost_at = ${NOW}
      where id = ? and cast(last_seen as text) = ? and lost_at is null
      returning id`,
    values: [id, lastSeen],
  }),
  endClaims: (table, id, pageSize) =>
    function* () {
      const [lost] = yield findLost(table, id);
      if (!lost) return [{ ended: 0 }];
      const held = heldRows(table, id, lost.takeover_ms);
      const ended = yield {
        text: `
          update ${table.sql}
          set claimed_until = ${UNTIL}
          where seq in (select seq from (${held.text}) limit ?)
          returning id`,
        values: [lost.takeover_ms, ...held.values, pageSize],
      };
      return [{ ended: ended.length }];
    },
  forgetLost: (table, id) =>
    function* () {
      const [lost] = yield findLost(table, id);
      if (!lost) return [];
      const held = heldRows(table, id, lost.takeover_ms);
      return yield {
        text: `delete from ${table.quoted('_workers')} where id = ? and not exists (${held.text})`,
        values: [id, ...held.values],
      };
    },
  remove: (table, id) => ({ text: `delete from ${table.quoted('_workers')} where id = ?`, values: [id] }),
  list: (table) => ({
    text: `
      select ${SIGHTING}, w.version, w.rows_in_flight, w.is_listening, w.outages,
        max(0, ${NOW} - w.started_at) as started_age_ms
      from ${table.quoted('_workers')} w
      order by w.started_at, w.id`,
    values: [],
  }),
};

function reportValues({ rowsInFlight, isListening, outages }: WorkerReport): unknown[] {
  return [rowsInFlight, flag(isListening), JSON.stringify(outages)];
}

function findLost(table: TableName, id: string): SqlStatement {
  return {
    text: `select takeover_ms from ${table.quoted('_workers')} where id = ? and lost_at is not null`,
    values: [id],
  };
}

/** The rows with claims that are to end. The token has no index, so this reads all pending rows. */
function heldRows(table: TableName, id: string, takeoverMs: unknown): SqlStatement {
  const prefix = tokenPrefix(id);
  const held = KINDS.map(
    (kind) => `
        select seq from ${table.sql}
        where ${PENDING} and ${kind} and substr(claim_token, 1, length(?)) = ? and claimed_until > ${UNTIL}`,
  );
  return {
    text: held.join(' union all '),
    values: KINDS.flatMap(() => [prefix, prefix, takeoverMs]),
  };
}
