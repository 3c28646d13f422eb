import type { Difference, ForeignTable } from '../dialect.js';

/** The first words of the mark that our tables carry. */
export const MARK = 'Postcommit outbox';

/** The columns of the Prisma model in document 002, the outbox that was there before this one. */
export const DOCUMENT_COLUMNS: readonly string[] = [
  'id',
  'topic',
  'payload',
  'created_at',
  'dispatched_at',
  'dead_at',
  'claimed_at',
  'claim_token',
  'attempts',
  'last_error',
];

/** The columns of version 1 of our table. Never changed: a table that has them all can only be one of ours. */
const FIRST_COLUMNS: readonly string[] = [
  ...DOCUMENT_COLUMNS,
  'key',
  'headers',
  'available_at',
  'dead_reason',
  'retakes',
  'claimed_until',
  'claimed_key',
  'max_attempts',
  'backoff',
  'seq',
];

/** The columns of the tables beside the outbox. */
export const SIDE_COLUMNS: Readonly<Record<'_locks' | '_processed', readonly string[]>> = {
  _locks: ['name', 'token', 'locked_until'],
  _processed: ['consumer', 'row_id', 'processed_at'],
};

export const SIDE_TABLES = ['_locks', '_processed'] as const;

/** What to do about a table that is not ours. */
export const FOREIGN_CURE =
  "set another table name ('table' of the store's options), or run 'outbox:migrate --adopt', which shows what it would do and asks first";

export function isMarked(comment: unknown): boolean {
  return typeof comment === 'string' && comment.startsWith(MARK);
}

export function hasFirstColumns(names: readonly string[]): boolean {
  return FIRST_COLUMNS.every((name) => names.includes(name));
}

/** These columns and no others. */
export function hasExactly(names: readonly string[], expected: readonly string[]): boolean {
  return names.length === expected.length && expected.every((name) => names.includes(name));
}

export function notOurs(table: string): string {
  return `${table} is not a table of Postcommit`;
}

/** A table beside the outbox that is not ours: it is never adopted, since nothing in it would be kept. */
export function foreignSideTables(tables: readonly string[]): ForeignTable {
  const problem = notOurs(tables.join(' and '));
  return {
    problem,
    obstacles: tables.map((table) => `${table} is not ours: rename it, or set another table name`),
    adoption: [],
  };
}

/** A column that the outbox does not know and that every insert must fill. */
export function mustBeFilled(column: string, cure: string): string {
  return `column ${column} must be filled by every insert, and the outbox does not know it: ${cure}`;
}

export function statementsOf(differences: readonly Difference[]): string[] {
  return differences.flatMap(({ statements }) => statements);
}

/** What a person has to decide before a table can be adopted. */
export function byHandIn(differences: readonly Difference[]): string[] {
  return differences.filter(({ isByHand }) => isByHand).map(({ problem }) => problem);
}
