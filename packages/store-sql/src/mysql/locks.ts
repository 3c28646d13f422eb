import type { LockStatements } from '../capability-statements.js';
import type { SqlStatement } from '../sql-statement.js';
import type { TableName } from '../table-name.js';
import { NOW, nowPlusMs } from './columns.js';

export const locks: LockStatements = {
  /** Creates and locks the row first, so that the update's time is not older than its lock. */
  take: (table, name, token, ttlMs) =>
    function* () {
      yield {
        text: `
          insert into ${table.quoted('_locks')} (name, token, locked_until)
          values (?, '', ${NOW})
          on duplicate key update name = name`,
        values: [name],
      };
      yield {
        text: `
          update ${table.quoted('_locks')} set token = ?, locked_until = ${nowPlusMs('?')}
          where name = ? and locked_until <= ${NOW}`,
        values: [token, ttlMs, name],
      };
      return yield ownLock(table, name, token);
    },
  renew: (table, name, token, ttlMs) =>
    function* () {
      yield {
        text: `update ${table.quoted('_locks')} set locked_until = ${nowPlusMs('?')} where name = ? and token = ?`,
        values: [ttlMs, name, token],
      };
      return yield ownLock(table, name, token);
    },
  release: (table, name, token) => ({
    text: `delete from ${table.quoted('_locks')} where name = ? and token = ?`,
    values: [name, token],
  }),
};

function ownLock(table: TableName, name: string, token: string): SqlStatement {
  return {
    text: `select name from ${table.quoted('_locks')} where name = ? and token = ?`,
    values: [name, token],
  };
}
