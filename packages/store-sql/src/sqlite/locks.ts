import type { LockStatements } from '../capability-statements.js';
import { NOW, nowPlusMs } from './columns.js';

export const locks: LockStatements = {
  take: (table, name, token, ttlMs) => ({
    text: `
      insert into ${table.quoted('_locks')} as l (name, token, locked_until)
      values (?, ?, ${nowPlusMs('?')})
      on conflict (name) do update set token = excluded.token, locked_until = excluded.locked_until
      where l.locked_until <= ${NOW}
      returning name`,
    values: [name, token, ttlMs],
  }),
  renew: (table, name, token, ttlMs) => ({
    text: `
      update ${table.quoted('_locks')} set locked_until = ${nowPlusMs('?')}
      where name = ? and token = ?
      returning name`,
    values: [ttlMs, name, token],
  }),
  release: (table, name, token) => ({
    text: `delete from ${table.quoted('_locks')} where name = ? and token = ?`,
    values: [name, token],
  }),
};
