import type { SqlDialect } from '../dialect.js';
import { missingTableError } from '../driver-errors.js';
import type { SqlExecutor, SqlRecord, SqlWork } from '../sql-statement.js';
import type { TableName } from '../table-name.js';

/** Runs work of a capability; if its table is missing, the error names the migration. */
export function checkedExecutor(
  executor: SqlExecutor<never>,
  dialect: SqlDialect,
  table: TableName,
): (work: SqlWork) => Promise<SqlRecord[]> {
  return async (work) => {
    try {
      return await executor(work);
    } catch (error) {
      throw missingTableError(dialect.faultOf(error), table, error) ?? error;
    }
  };
}
