import type { DoctorCheck, DoctorFinding, DoctorLimits } from './doctor-check.js';

/** Runs a statement on PostgreSQL and gives its rows. */
export type RunQuery = (
  text: string,
  values: unknown[],
) => Promise<{ readonly rows: readonly Record<string, unknown>[] }>;

/**
 * Whoever has a snapshot or has written keeps vacuum from removing what died since, in the outbox too: claims then wade
 * through dead rows. A session without either holds nothing back. Prepared transactions outlive their sessions.
 */
const HOLDING_BACK = `
  select 'session' as kind, pid::text as name, date_part('epoch', clock_timestamp() - xact_start) * 1000 as age_ms
  from pg_stat_activity
  where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'
    and (backend_xmin is not null or backend_xid is not null)
    and xact_start <= clock_timestamp() - $1::float8 * interval '1 millisecond'
  union all
  select 'prepared', gid, date_part('epoch', clock_timestamp() - prepared) * 1000
  from pg_prepared_xacts
  where database = current_database()
    and prepared <= clock_timestamp() - $1::float8 * interval '1 millisecond'
  order by age_ms desc
  limit 20`;

/**
 * Finds transactions on PostgreSQL that hold back vacuum. It sees what the role may see: sessions of other roles only
 * as a member of `pg_read_all_stats`.
 *
 * @example
 * contributes: [{ pool: DoctorChecks, useValue: longTransactionCheck((text, values) => pool.query(text, values)) }]
 */
export function longTransactionCheck(query: RunQuery): DoctorCheck {
  return {
    name: 'long transactions',
    async find({ transactionAgeMs }: DoctorLimits): Promise<DoctorFinding[]> {
      const { rows } = await query(HOLDING_BACK, [transactionAgeMs]);
      return rows.map(({ kind, name, age_ms }) => finding(String(kind), String(name), Number(age_ms)));
    },
  };
}

function finding(kind: string, name: string, ageMs: number): DoctorFinding {
  const isPrepared = kind === 'prepared';
  const what = isPrepared ? `the prepared transaction '${name}'` : `the transaction of session ${name}`;
  return {
    level: 'tuning',
    problem: `${what} has been open for ${Math.round(ageMs / 1_000)} s and holds back vacuum`,
    fix: isPrepared
      ? `rollback prepared '${name.replaceAll("'", "''")}';`
      : `select pg_terminate_backend(${name});`,
  };
}
