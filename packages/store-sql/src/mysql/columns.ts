import type { SqlRecord } from '../sql-statement.js';
import type { TableName } from '../table-name.js';

/** The server's clock in UTC, whatever the zone of the session; fixed when a statement starts. */
export const NOW = 'utc_timestamp(6)';

const EPOCH = "timestamp'1970-01-01 00:00:00'";

export function nowPlusMs(parameter: string): string {
  return `${NOW} + interval (${parameter} * 1000) microsecond`;
}

/** As a number with a fraction: drivers give a whole number of this size as text. */
export function epochMs(column: string): string {
  return `timestampdiff(microsecond, ${EPOCH}, ${column}) / 1e3`;
}

export function epochMicroseconds(column: string): string {
  return `cast(timestampdiff(microsecond, ${EPOCH}, ${column}) as char)`;
}

export function fromEpochMicroseconds(parameter: string): string {
  return `${EPOCH} + interval ${parameter} microsecond`;
}

/** As the columns hold it: a driver would write a Date in the zone of the process. */
export function utcText(time: Date): string {
  return time.toISOString().replace('T', ' ').replace('Z', '');
}

const CLAIMED_COLUMNS = [
  'id',
  'topic',
  'payload',
  '`key`',
  'headers',
  `${epochMs('created_at')} as created_at`,
  `${epochMs('available_at')} as available_at`,
  'attempts',
  'retakes',
  'last_error',
  'max_attempts',
  'backoff',
  'seq + 0e0 as seq',
].join(', ');

/** What a row about to be claimed has to tell; `orphaned` where a claim on it expired. */
export const CLAIMABLE_COLUMNS = `${CLAIMED_COLUMNS}, claimed_until is not null as orphaned`;

export const ROW_COLUMNS = [
  CLAIMED_COLUMNS,
  `${epochMs('dispatched_at')} as dispatched_at`,
  `${epochMs('dead_at')} as dead_at`,
  'dead_reason',
  'claim_token',
].join(', ');

export const PENDING = 'dispatched_at is null and dead_at is null';

export const END_CLAIM = 'claim_token = null, claimed_at = null, claimed_until = null, claimed_key = null';

/**
 * Named wherever rows are locked: left to choose, the server reads a small table from end to end, and waits there
 * for the rows of others.
 */
export function byIndex(table: TableName, suffix: string): string {
  return `${table} force index (\`${table.table}${suffix}\`)`;
}

export function byPrimaryKey(table: TableName): string {
  return `${table} force index (primary)`;
}

/**
 * With the table's name: alone, a name in ORDER BY means what the result calls so, and `seq` is an expression there.
 * Rows would be sorted after all of them were read and locked, instead of in the order of an index up to the limit.
 */
export function inOrder(table: TableName, ...columns: readonly string[]): string {
  return columns.map((column) => `${table}.${column}`).join(', ');
}

/** A list of parameters. */
export function list(values: readonly unknown[]): string {
  return values.map(() => '?').join(', ');
}

export function seqsOf(records: readonly SqlRecord[]): unknown[] {
  return records.map(({ seq }) => seq);
}

export function idRecords(records: readonly SqlRecord[]): SqlRecord[] {
  return records.map(({ id }) => ({ id }));
}
