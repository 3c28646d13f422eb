import { type NewRow, OutboxError } from '@postcommit/core';
import type { TableName } from './table-name.js';

const UNIQUE_VIOLATION = '23505';
const UNDEFINED_TABLE = '42P01';
const UNDEFINED_COLUMN = '42703';

export function isUniqueViolation(error: unknown): boolean {
  return sqlState(error) === UNIQUE_VIOLATION;
}

/** The id that the database's error names; some drivers drop that part. */
export function idNamedBy(error: unknown, rows: readonly NewRow[]): string | undefined {
  const detail = texts(error).join(' ');
  return rows.length === 1 ? rows[0]?.id : rows.find(({ id }) => detail.includes(`(${id})`))?.id;
}

export function duplicateIdError(id: string | undefined, cause: unknown): OutboxError {
  const which = id === undefined ? 'one of these ids' : `id '${id}'`;
  return new OutboxError('DUPLICATE_ID', `a row with ${which} exists already`, { cause });
}

export function missingTableError(error: unknown, table: TableName): OutboxError | undefined {
  const state = sqlState(error);
  if (state !== UNDEFINED_TABLE && state !== UNDEFINED_COLUMN) return undefined;
  const what = state === UNDEFINED_TABLE ? 'does not exist' : 'lacks a column';
  return new OutboxError(
    'SCHEMA_OUTDATED',
    `the table ${table} ${what}: run 'outbox:migrate', or call ensure() of OutboxSchema`,
    { cause: error },
  );
}

/** The SQLSTATE, wherever the driver or the ORM around it put it. */
export function sqlState(error: unknown): string | undefined {
  return chain(error)
    .flatMap((link) => [link.code, link.originalCode])
    .find(
      (code): code is string =>
        typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) && !code.startsWith('P2'),
    );
}

function texts(error: unknown): string[] {
  return chain(error).flatMap((link) => [link.detail, link.message, link.originalMessage].filter(isString));
}

/** An error and what it wraps: TypeORM has `driverError`, Prisma `meta.driverAdapterError.cause`. */
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
