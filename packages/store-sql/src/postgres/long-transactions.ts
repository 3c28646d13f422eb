import type { SchemaProblem } from '@postcommit/core';
import type { SqlRecord, SqlStatement } from '../sql-statement.js';
import { quoteText } from '../table-name.js';

/**
 * A transaction with a snapshot or a write keeps vacuum from removing rows that died since, also in the outbox, so
 * claims have to skip dead rows. A session with neither holds nothing back. Prepared transactions outlive their
 * sessions. Sessions of other roles are visible only to members of `pg_read_all_stats`.
 */
export function findLongTransactions(olderThanMs: number): SqlStatement {
  return {
    text: `
      select 'session' as kind, pid::text as name, extract(epoch from clock_timestamp() - xact_start) * 1000 as age_ms
      from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'
        and (backend_xmin is not null or backend_xid is not null)
        and xact_start <= clock_timestamp() - $1::float8 * interval '1 millisecond'
      union all
      select 'prepared', gid, extract(epoch from clock_timestamp() - prepared) * 1000
      from pg_prepared_xacts
      where database = current_database()
        and prepared <= clock_timestamp() - $1::float8 * interval '1 millisecond'
      order by age_ms desc
      limit 20`,
    values: [olderThanMs],
  };
}

export function longTransactionProblem({ kind, name, age_ms }: SqlRecord): SchemaProblem {
  const isPrepared = kind === 'prepared';
  const what = isPrepared
    ? `the prepared transaction ${quoteText(String(name))}`
    : `the transaction of session ${name}`;
  return {
    level: 'tuning',
    problem: `${what} has been open for ${Math.round(Number(age_ms) / 1_000)} s and holds back vacuum`,
    fix: isPrepared
      ? `rollback prepared ${quoteText(String(name))};`
      : `select pg_terminate_backend(${name});`,
  };
}
