import { tokenPrefix, type WorkerReport } from '@postcommit/core/internal';
import { MAX_WAIT_MS, type WorkerStatements } from '../capability-statements.js';
import type { TableName } from '../table-name.js';
import { exactMs, isAt, NOW, PENDING, PLACES, placeMicroseconds } from './columns.js';

/** The statement may have waited for another one on the same record. */
const NOW_UNLOCKED = 'clock_timestamp()';

const LAST_SEEN = placeMicroseconds('w.last_seen');

const SIGHTING = `w.id, ${LAST_SEEN} as last_seen, ${ageMs('w.last_seen')} as age_ms, w.takeover_ms,
        w.lost_at is not null as is_lost, w.host, w.pid`;

export const workers: WorkerStatements = {
  register: (table, { id, host, pid, version, takeoverMs }, report) => ({
    text: `
      insert into ${table.quoted('_workers')}
        (id, host, pid, version, started_at, last_seen, takeover_ms, rows_in_flight, is_listening, outages)
      values ($1, $2, $3, $4, ${NOW_UNLOCKED}, ${NOW_UNLOCKED}, $5, $6, $7, $8)
      on conflict (id) do nothing`,
    values: [id, host, pid, version, takeoverMs, ...reportValues(report)],
  }),
  beat: (table, id, report) => [
    {
      text: `
      with beaten as (
        update ${table.quoted('_workers')}
        set last_seen = ${NOW_UNLOCKED}, rows_in_flight = $2, is_listening = $3, outages = $4
        where id = $1 and lost_at is null
        returning id
      )
      select ${SIGHTING}
      from beaten b
      left join ${table.quoted('_workers')} w on w.id <> b.id`,
      values: [id, ...reportValues(report)],
    },
  ],
  declareLost: (table, id, lastSeen) => ({
    text: `
      update ${table.quoted('_workers')} as w
      set lost_at = ${NOW_UNLOCKED}
      where w.id = $1 and ${LAST_SEEN} = $2 and w.lost_at is null
      returning w.id`,
    values: [id, lastSeen],
  }),
  endClaims: (table, id, pageSize) => ({
    text: `
      with lost as materialized (
        ${lost(table)}
      ), unkeyed as materialized (
        ${held(table, 'key is null')}
        limit $3::int
        for update skip locked
      ), keyed as materialized (
        ${held(table, 'key is not null')}
        limit $3::int - (select count(*) from unkeyed)
        for update skip locked
      ), places as materialized (
        select ${PLACES} from (select * from unkeyed union all select * from keyed) held
      ), ended as (
        update ${table.sql} as o
        set claimed_until = least(o.claimed_until, ${until('o.retakes')})
        where ${isAt('places', PENDING)}
        returning 1
      )
      select count(*)::int as ended from ended`,
    values: [id, tokenPrefix(id), pageSize],
  }),
  /** Two searches, each in the order of its index: EXISTS would scan the table from its start. */
  forgetLost: (table, id) => ({
    text: `
      with lost as materialized (
        ${lost(table)}
      )
      delete from ${table.quoted('_workers')}
      where id = (select id from lost)
        and (select 1 from (${held(table, 'key is null')} limit 1) unkeyed) is null
        and (select 1 from (${held(table, 'key is not null')} limit 1) keyed) is null`,
    values: [id, tokenPrefix(id)],
  }),
  remove: (table, id) => ({ text: `delete from ${table.quoted('_workers')} where id = $1`, values: [id] }),
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
  return [rowsInFlight, isListening, JSON.stringify(outages)];
}

/** Another session may have written the time after this statement began. */
function ageMs(time: string): string {
  return exactMs(`greatest(interval '0', ${NOW} - ${time})`);
}

function lost(table: TableName): string {
  return `select id, takeover_ms from ${table.quoted('_workers')} where id = $1 and lost_at is not null`;
}

/**
 * The rows with claims that are to end, of one kind, in the order of its index: otherwise the planner scans the table with
 * its dispatched rows, in the hope of a few matches. The token has no index, so this reads all pending rows.
 */
function held(table: TableName, kind: string): string {
  return `select tableoid, ctid
        from ${table.sql}
        where ${PENDING} and ${kind} and starts_with(claim_token, $2) and claimed_until > ${until('retakes')}
        order by available_at, seq`;
}

/**
 * When the claim on a row ends, null while its worker is not lost. Each time a row is retaken, it waits twice as long, so
 * that a flapping host does not kill it off in minutes.
 */
function until(retakes: string): string {
  const wait = `least(${MAX_WAIT_MS}, (power(2, least(${retakes}, 31)) - 1) * (select takeover_ms from lost))`;
  return `${NOW} + ${wait} * interval '1 millisecond'`;
}
