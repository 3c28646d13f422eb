import { STATEMENT_MS, serverLimitMs } from '../../run-work.js';
import type { SqlExecutor, SqlRecord, SqlStatement } from '../../sql-statement.js';
import type { TableName } from '../../table-name.js';
import type { DedicatedSession } from './dedicated-session.js';

/**
 * Settings for a session with prepared statements. Each gets one plan, perhaps made on an empty table, and keeps it
 * however the table grows. So the only plan allowed is the one that reads an index in its order. `jit` is off because
 * before PostgreSQL 18 a disabled plan node gets a huge cost, which would trigger it. READ COMMITTED because under a
 * stricter default a claim that meets another would fail instead of skipping its rows. The server ends a claim before we
 * give it up.
 */
const CLAIM_SETTINGS = [
  ['plan_cache_mode', 'force_generic_plan'],
  ['enable_seqscan', 'off'],
  ['enable_bitmapscan', 'off'],
  ['enable_sort', 'off'],
  ['jit', 'off'],
  ['default_transaction_isolation', 'read committed'],
  ['statement_timeout', String(serverLimitMs(STATEMENT_MS))],
] as const;

/**
 * Prepares a session for claims, once. Returns false, and leaves the session as it is, if it might claim other rows than
 * the executor settles.
 */
export async function prepareClaims(
  session: DedicatedSession,
  executor: SqlExecutor<never>,
  table: TableName,
): Promise<boolean> {
  const [here] = await session.query(describeView(table));
  const [there] = await executor(describeView(table));
  if (!seeSameRows(here, there)) return false;
  await session.query(claimSettings());
  return true;
}

/** Returns the table that the name resolves to in this session, its role, and whether policies hide rows from it. */
function describeView(table: TableName): SqlStatement {
  return {
    text: `select found::oid::text as seen, current_user::text as role, row_security_active(found::oid) as is_filtered
      from to_regclass($1) as found`,
    values: [table.sql],
  };
}

/** Two sessions with the same table and role claim the same rows, unless a policy depends on anything else. */
function seeSameRows(one: SqlRecord | undefined, other: SqlRecord | undefined): boolean {
  if (typeof one?.seen !== 'string' || one.is_filtered !== false) return false;
  return one.seen === other?.seen && one.role === other.role;
}

function claimSettings(): SqlStatement {
  const settings = CLAIM_SETTINGS.map(([name, value]) => `set_config('${name}', '${value}', false)`);
  return { text: `select ${settings.join(', ')}`, values: [] };
}
