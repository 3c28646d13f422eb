import type { SqlStatement } from '../../sql-statement.js';
import type { TableName } from '../../table-name.js';

const PREFIX = 'postcommit_';
const PROBE = 'probe:';

/**
 * Named after the table without its schema: of two processes on one table, one may name the schema and the other rely
 * on the search path. `TableName` allows 40 ASCII characters, so the name stays below PostgreSQL's limit of 63 bytes.
 */
export function channelOf({ table }: TableName): string {
  return `${PREFIX}${table}`;
}

/** PostgreSQL delivers NOTIFY at commit, and drops it on rollback. */
export function notify(table: TableName, insert?: SqlStatement): SqlStatement {
  if (!insert) return { text: `select ${pgNotify(1)}`, values: [channelOf(table), ''] };
  const { text, values } = insert;
  return {
    // A data-modifying WITH runs to completion even if nothing reads from it.
    text: `with inserted as (${text}) select ${pgNotify(values.length + 1)}`,
    values: [...values, channelOf(table), ''],
  };
}

/** Runs a statement, notifies once for each record that it returns, and returns those. */
export function notifyForEach(table: TableName, { text, values }: SqlStatement): SqlStatement {
  return {
    text: `with changed as (${text}) select c.*, ${pgNotify(values.length + 1)} from changed c`,
    values: [...values, channelOf(table), ''],
  };
}

/** A notification that a listener sends to itself, from another connection, to check that it arrives. */
export function notifyProbe(table: TableName, probe: string): SqlStatement {
  return { text: `select ${pgNotify(1)}`, values: [channelOf(table), `${PROBE}${probe}`] };
}

/** Undefined if the notification is about rows. */
export function probeIn(payload: string): string | undefined {
  return payload.startsWith(PROBE) ? payload.slice(PROBE.length) : undefined;
}

/** LISTEN takes an identifier, not a parameter. The name contains only letters, digits and underscores. */
export function listen(table: TableName): string {
  return `listen "${channelOf(table)}"`;
}

/** Cast to text, since not every driver can return `void`. */
function pgNotify(firstParameter: number): string {
  return `pg_notify($${firstParameter}, $${firstParameter + 1})::text as notified`;
}
