import type { HintKind } from '@postcommit/core/internal';
import type { SqlStatement } from '../../sql-statement.js';
import type { TableName } from '../../table-name.js';

const PREFIX = 'postcommit_';
const PROBE = 'probe:';
const COMMIT = 'commit';

/**
 * How many open transactions notify at COMMIT. Such commits run one after another on the whole server, and cannot share a
 * flush to disk. So few lose hardly any time to each other, and they are enough for a thousand commits a second.
 */
const NOTIFYING_TRANSACTIONS = 4;
/** Separates our advisory locks from those of the application. */
const LOCK_SPACE = 0x706f7375;

/**
 * Named after the table without its schema: of two processes on one table, one may name the schema and the other rely
 * on the search path. `TableName` allows 40 ASCII characters, so the name stays below PostgreSQL's limit of 63 bytes.
 */
export function channelOf({ table }: TableName): string {
  return `${PREFIX}${table}`;
}

/** Announces any number of enqueues that did not notify. Delivered at once. */
export function notify(table: TableName): SqlStatement {
  return { text: `select ${pgNotify(1)}`, values: [channelOf(table), ''] };
}

/**
 * An insert that notifies when its transaction commits, unless too many open ones will do so: then `notified` is null. An
 * advisory lock for each of them counts across all processes, and its end is the end of the transaction. The last one
 * announces a burst, since others are probably refused meanwhile.
 */
export function insertAndNotify(table: TableName, { text, values }: SqlStatement): SqlStatement {
  const channel = `$${values.length + 1}::text`;
  const places = Array.from(
    { length: NOTIFYING_TRANSACTIONS },
    (_, place) => `pg_try_advisory_xact_lock(${LOCK_SPACE}, hashtext(${channel}) # ${place})`,
  );
  return {
    // A data-modifying WITH runs to completion even if nothing reads from it.
    text: `with inserted as (${text})
      select case
        when ${places.slice(0, -1).join(' or ')} then pg_notify(${channel}, '${COMMIT}')::text
        when ${places.at(-1)} then pg_notify(${channel}, '')::text
      end as notified`,
    values: [...values, channelOf(table)],
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

/** A notification that is not known comes from somebody who inserts rows otherwise. */
export function kindOf(payload: string): HintKind {
  return payload === COMMIT ? 'commit' : 'burst';
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
