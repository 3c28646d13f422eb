import type { KeyedLockStatements } from '../dialect.js';
import type { SqlStatement } from '../sql-statement.js';
import type { TableName } from '../table-name.js';
import { CLAIM_SETTINGS } from './claim.js';
import { limitStatements } from './statement-limit.js';

/** The maximum wait for a dispatcher that stalled between its lock and its commit. */
const STALLED_CLAIMER_MS = 5_000;
/** Separates our advisory locks from those of the application. */
const LOCK_SPACE = 0x706f7374;

/**
 * Held for one statement and a commit. The server cuts off a holder that stalls in between. Identified by the table's
 * oid, since one instance may name the schema that another finds by its search path. The columns are evaluated in order,
 * so the timeout applies to this lock and to nothing after it. The statement that follows gets its own limit.
 */
export function lockKeyedClaims(table: TableName, waitMs: number, statementMs: number): SqlStatement {
  return {
    text: `
      select ${CLAIM_SETTINGS}, set_config('idle_in_transaction_session_timeout', '${STALLED_CLAIMER_MS}', true),
        set_config('lock_timeout', $2::text, true),
        pg_advisory_xact_lock(${LOCK_SPACE}, $1::regclass::oid::int)::text,
        set_config('lock_timeout', before, true),
        ${limitStatements('$3')}
      from (select current_setting('lock_timeout') as before offset 0) s`,
    values: [table.sql, String(waitMs), statementMs],
  };
}

/** Any role that can connect can hold an advisory lock. The age of a transaction is visible only for one's own roles. */
export const keyedLock: KeyedLockStatements = {
  holders: (table) => ({
    text: `
      select l.pid::text as holder, a.usename::text as role, a.application_name as application,
        floor(extract(epoch from clock_timestamp() - a.xact_start) * 1000)::text as held_ms
      from pg_locks l
      left join pg_stat_activity a on a.pid = l.pid
      where l.locktype = 'advisory' and l.granted and l.classid = ${LOCK_SPACE} and l.objid = to_regclass($1)::oid
        and l.objsubid = 2 and l.database = (select oid from pg_database where datname = current_database())
      order by l.pid
      limit 5`,
    values: [table.sql],
  }),
  problemOf: ({ holder, role, application }, table) => ({
    level: 'tuning',
    problem: `session ${holder} (role ${JSON.stringify(role)}, application ${JSON.stringify(application)}) holds the advisory lock of keyed claims on ${table.sql}: rows with a key wait`,
    fix: `select pg_terminate_backend(${holder});`,
  }),
};
