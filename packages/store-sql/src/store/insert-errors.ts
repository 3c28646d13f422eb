import type { NewRow } from '@postcommit/core';
import type { ClaimRunner } from '../claim/claim-runner.js';
import type { SqlDialect } from '../dialect.js';
import { duplicateIdError, idNamedBy, missingTableError } from '../driver-errors.js';
import type { TableName } from '../table-name.js';

interface FailedInsert {
  readonly dialect: SqlDialect;
  readonly table: TableName;
  readonly rows: readonly NewRow[];
  /** Undefined in the caller's transaction, which is aborted by now. */
  readonly runner: Pick<ClaimRunner, 'run'> | undefined;
}

/** Returns what an insert that failed with `error` should throw. */
export async function insertError(error: unknown, failed: FailedInsert): Promise<unknown> {
  const { dialect, table } = failed;
  const fault = dialect.faultOf(error);
  if (fault === 'duplicate') return duplicateIdError(await takenId(error, failed), error);
  return missingTableError(fault, table, error) ?? error;
}

/** Queries only if the error doesn't name the id. */
async function takenId(error: unknown, { rows, runner }: FailedInsert): Promise<string | undefined> {
  const named = idNamedBy(error, rows);
  if (named !== undefined || !runner) return named;
  const ids = rows.map(({ id }) => id);
  const [taken] = await runner.run((dialect, table) => dialect.findExisting(table, ids)).catch(() => []);
  return taken?.id as string | undefined;
}
