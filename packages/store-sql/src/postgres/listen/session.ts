import type { SqlRecord, SqlStatement } from '../../sql-statement.js';
import type { TableName } from '../../table-name.js';

/**
 * For a session whose statements stay prepared. One plan is made for each, perhaps on an empty table, and kept however
 * the table grows: so it may only be the one that reads an index in its order. Without `jit`, since a server before 18
 * counts a way that is forbidden and still has to be gone as one so expensive that compiling it pays. READ COMMITTED,
 * since a claim under a stricter default would fail where it meets another instead of passing it by.
 */
const CLAIM_SETTINGS = [
  ['plan_cache_mode', 'force_generic_plan'],
  ['enable_seqscan', 'off'],
  ['enable_bitmapscan', 'off'],
  ['enable_sort', 'off'],
  ['jit', 'off'],
  ['default_transaction_isolation', 'read committed'],
] as const;

export function claimSettings(): SqlStatement {
  const settings = CLAIM_SETTINGS.map(([name, value]) => `set_config('${name}', '${value}', false)`);
  return { text: `select ${settings.join(', ')}`, values: [] };
}

/** Which table a session means by that name, as whom, and whether policies hide rows of it. */
export function whatIsSeen(table: TableName): SqlStatement {
  return {
    text: `select found::oid::text as seen, current_user::text as role, row_security_active(found::oid) as is_filtered
      from to_regclass($1) as found`,
    values: [String(table)],
  };
}

/** Two sessions that see the same table as the same role claim the same rows, unless a policy decides by more than that. */
export function seeTheSame(one: SqlRecord | undefined, other: SqlRecord | undefined): boolean {
  if (typeof one?.seen !== 'string' || one.is_filtered !== false) return false;
  return one.seen === other?.seen && one.role === other.role;
}
