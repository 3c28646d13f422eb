import type { LockStatements } from '../capability-statements.js';

/** Uses `clock_timestamp()`, since the statement may have waited for another one. */
const UNTIL = `clock_timestamp() + $3::float8 * interval '1 millisecond'`;

export const locks: LockStatements = {
  take: (table, name, token, ttlMs) => ({
    text: `
      insert into ${table.quoted('_locks')} as l (name, token, locked_until)
      values ($1, $2, ${UNTIL})
      on conflict (name) do update set token = excluded.token, locked_until = excluded.locked_until
      where l.locked_until <= clock_timestamp()
      returning name`,
    values: [name, token, ttlMs],
  }),
  renew: (table, name, token, ttlMs) => ({
    text: `
      update ${table.quoted('_locks')} set locked_until = ${UNTIL}
      where name = $1 and token = $2
      returning name`,
    values: [name, token, ttlMs],
  }),
  release: (table, name, token) => ({
    text: `delete from ${table.quoted('_locks')} where name = $1 and token = $2`,
    values: [name, token],
  }),
};
