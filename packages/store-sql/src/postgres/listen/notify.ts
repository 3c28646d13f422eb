import type { SqlStatement } from '../../sql-statement.js';
import type { TableName } from '../../table-name.js';

const PREFIX = 'postcommit_';
const PROBE = 'probe:';

/**
 * By the table's name alone: of two processes on one table, one may name the schema and the other leave it to the
 * search path. `TableName` allows 40 characters of ASCII, so that this stays below PostgreSQL's 63 bytes.
 */
export function channelOf({ table }: TableName): string {
  return `${PREFIX}${table}`;
}

/** NOTIFY is delivered at commit, and not at all after a rollback. */
export function notify(table: TableName, insert?: SqlStatement): SqlStatement {
  if (!insert) return { text: `select ${pgNotify(1)}`, values: [channelOf(table), ''] };
  const { text, values } = insert;
  return {
    // A WITH that writes is run to its end, although nothing reads from it.
    text: `with inserted as (${text}) select ${pgNotify(values.length + 1)}`,
    values: [...values, channelOf(table), ''],
  };
}

/** What a listener sends itself, from another connection, to see whether it hears. */
export function notifyProbe(table: TableName, probe: string): SqlStatement {
  return { text: `select ${pgNotify(1)}`, values: [channelOf(table), `${PROBE}${probe}`] };
}

/** Undefined for what tells of rows. */
export function probeIn(payload: string): string | undefined {
  return payload.startsWith(PROBE) ? payload.slice(PROBE.length) : undefined;
}

/** LISTEN takes an identifier, no parameter. The name has letters, digits and underscores only. */
export function listen(table: TableName): string {
  return `listen "${channelOf(table)}"`;
}

/** As text, since not every driver has a value for `void`. */
function pgNotify(firstParameter: number): string {
  return `pg_notify($${firstParameter}, $${firstParameter + 1})::text as notified`;
}
