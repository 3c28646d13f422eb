import type { SqlRecord } from '../sql-statement.js';
import type { TableName } from '../table-name.js';

/** The server's clock in UTC, whatever the session's time zone; fixed at the start of a statement. */
export const NOW = 'utc_timestamp(6)';

const EPOCH = "timestamp'1970-01-01 00:00:00'";

/** In UTC; a TIMESTAMP would follow the session's time zone. */
export const TIME = 'datetime(6)';

/** A binary collation for all texts. This older one, which both servers have, ignores trailing spaces. */
export const TABLE_OPTIONS = 'engine = InnoDB default character set utf8mb4 collate utf8mb4_bin';

/** The servers name the exact collation differently; each reads only its own comment. */
export const EXACT =
  'character set utf8mb4 /*!80000 collate utf8mb4_0900_bin */ /*M! collate utf8mb4_nopad_bin */';
export const EXACT_COLLATIONS = ['utf8mb4_0900_bin', 'utf8mb4_nopad_bin'];

export function nowPlusMs(parameter: string): string {
  return `${NOW} + interval (${parameter} * 1000) microsecond`;
}

/** A number with a fraction, since drivers return integers of this size as text. */
export function epochMs(column: string): string {
  return `timestampdiff(microsecond, ${EPOCH}, ${column}) / 1e3`;
}

export function epochMicroseconds(column: string): string {
  return `cast(timestampdiff(microsecond, ${EPOCH}, ${column}) as char)`;
}

export function fromEpochMicroseconds(parameter: string): string {
  return `${EPOCH} + interval ${parameter} microsecond`;
}

/** As stored in the columns; a driver would write a Date in the process's time zone. */
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

/** The columns of a row about to be claimed; `orphaned` if a claim on it expired. */
export const CLAIMABLE_COLUMNS = `${CLAIMED_COLUMNS}, claimed_until is not null as orphaned`;

export const PENDING = 'dispatched_at is null and dead_at is null';

export const ROW_COLUMNS = [
  CLAIMED_COLUMNS,
  `${epochMs('dispatched_at')} as dispatched_at`,
  `${epochMs('dead_at')} as dead_at`,
  'dead_reason',
  'claim_token',
  // Other rows keep the token as a receipt.
  ...['claimed_at', 'claimed_until'].map(
    (time) => `case when ${PENDING} then ${epochMs(time)} end as ${time}`,
  ),
].join(', ');

export const END_CLAIM = 'claim_token = null, claimed_at = null, claimed_until = null, claimed_key = null';

/**
 * Forces the index wherever rows are locked: left to choose, the server scans a small table from end to end, and waits
 * for rows that others have locked.
 */
export function byIndex(table: TableName, suffix: string): string {
  return `${table.sql} force index (\`${table.table}${suffix}\`)`;
}

export function byPrimaryKey(table: TableName): string {
  return `${table.sql} force index (primary)`;
}

/**
 * Qualified with the table name: a bare name in ORDER BY means the result column, and there `seq` is an expression. The
 * server would read, lock and sort all rows, instead of reading an index in its order up to the limit.
 */
export function inOrder(table: TableName, ...columns: readonly string[]): string {
  return columns.map((column) => `${table.sql}.${column}`).join(', ');
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
