import { type NewRow, OutboxError } from '@postcommit/core';
import type { DatabaseFault } from './dialect.js';
import type { TableName } from './table-name.js';
import { SIDE_TABLES } from './table-origin.js';

/** Returns the id that the database error names; some drivers drop that part. */
export function idNamedBy(error: unknown, rows: readonly NewRow[]): string | undefined {
  const detail = textsOf(error).join(' ');
  const isNamed = (id: string): boolean => detail.includes(`(${id})`) || detail.includes(`'${id}'`);
  return rows.length === 1 ? rows[0]?.id : rows.find(({ id }) => isNamed(id))?.id;
}

export function duplicateIdError(id: string | undefined, cause: unknown): OutboxError {
  const which = id === undefined ? 'one of these ids' : `id '${id}'`;
  return new OutboxError('DUPLICATE_ID', `a row with ${which} exists already`, { cause });
}

export function missingTableError(
  fault: DatabaseFault | undefined,
  table: TableName,
  cause: unknown,
): OutboxError | undefined {
  if (fault === undefined || fault === 'duplicate' || fault === 'too slow') return undefined;
  const what = { 'no table': 'does not exist', 'no column': 'lacks a column', 'no index': 'lacks an index' }[
    fault
  ];
  return new OutboxError(
    'SCHEMA_OUTDATED',
    `the table ${fault === 'no table' ? missingTable(table, cause) : table.sql} ${what}: run 'outbox:migrate', or call ensure() of OutboxSchema`,
    { cause },
  );
}

/** The table that the database error names: the outbox, or one beside it. */
function missingTable(table: TableName, error: unknown): string {
  const detail = textsOf(error).join(' ');
  const suffix = SIDE_TABLES.find((each) => detail.includes(`${table.table}${each}`));
  return suffix === undefined ? table.sql : table.quoted(suffix);
}

/** Returns the SQLSTATE, wherever the driver or ORM put it. */
export function sqlState(error: unknown): string | undefined {
  return codesOf(error).find((code) => /^[0-9A-Z]{5}$/.test(code) && !code.startsWith('P2'));
}

/** Returns the codes of the error and of the errors it wraps. */
export function codesOf(error: unknown): string[] {
  return chain(error)
    .flatMap((link) => [link.code, link.originalCode])
    .filter(isString);
}

/** Returns the numbers of the error and of the errors it wraps. */
export function numbersOf(error: unknown): unknown[] {
  return chain(error).map((link) => link.errno);
}

/** Returns the messages and details of the error and of the errors it wraps. */
export function textsOf(error: unknown): string[] {
  return chain(error).flatMap((link) => [link.detail, link.message, link.originalMessage].filter(isString));
}

/** Returns an error and those it wraps: TypeORM has `driverError`, Prisma `meta.driverAdapterError.cause`. */
function chain(error: unknown, depth = 0): Record<string, unknown>[] {
  if (typeof error !== 'object' || error === null || depth > 6) return [];
  const link = error as Record<string, unknown>;
  const inner = ['cause', 'driverError', 'meta', 'driverAdapterError'].flatMap((name) =>
    chain(link[name], depth + 1),
  );
  return [link, ...inner];
}

function isString(value: unknown): value is string {
  return typeof value === 'string';
}
