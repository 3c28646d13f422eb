import type { Difference, ForeignTable } from './capability-statements.js';

/** The start of the comment that marks our tables. */
export const MARK = 'Postcommit outbox';

/** The columns of the Prisma model in document 002, the predecessor of this outbox. */
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

/** The columns of version 1 of our table. This list never changes: only our tables have all of them. */
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

/** The suffix of a table beside the outbox. */
export type SideTable = '_locks' | '_processed' | '_workers' | '_paused';

export const SIDE_COLUMNS: Readonly<Record<SideTable, readonly string[]>> = {
  _locks: ['name', 'token', 'locked_until'],
  _processed: ['consumer', 'row_id', 'processed_at'],
  _workers: [
    'id',
    'host',
    'pid',
    'version',
    'started_at',
    'last_seen',
    'takeover_ms',
    'rows_in_flight',
    'is_listening',
    'outages',
    'lost_at',
  ],
  _paused: ['topic', 'paused_at'],
};

export const SIDE_TABLES: readonly SideTable[] = ['_locks', '_processed', '_workers', '_paused'];

/** How to fix a name clash with a table that is not ours. */
export const FOREIGN_TABLE_FIX =
  "set another table name ('table' of the store's options), or run 'outbox:migrate --adopt', which shows what it would do and asks first";

export function isMarked(comment: unknown): boolean {
  return typeof comment === 'string' && comment.startsWith(MARK);
}

export function hasFirstColumns(names: readonly string[]): boolean {
  return FIRST_COLUMNS.every((name) => names.includes(name));
}

/** Whether the names are exactly the expected ones, in any order. */
export function hasExactly(names: readonly string[], expected: readonly string[]): boolean {
  return names.length === expected.length && expected.every((name) => names.includes(name));
}

export function notOurs(table: string): string {
  return `${table} is not a table of Postcommit`;
}

/** Side tables that are not ours are never adopted, since nothing in them would be kept. */
export function foreignSideTables(tables: readonly string[]): ForeignTable {
  const problem = notOurs(tables.join(' and '));
  return {
    problem,
    obstacles: tables.map((table) => `${table} is not ours: rename it, or set another table name`),
    adoption: [],
  };
}

/** Describes an unknown column that every insert must fill. */
export function mustBeFilled(column: string, fix: string): string {
  return `column ${column} must be filled by every insert, and the outbox does not know it: ${fix}`;
}

export function statementsOf(differences: readonly Difference[]): string[] {
  return differences.flatMap(({ statements }) => statements);
}

/** The problems that a person must fix before the table can be adopted. */
export function byHandIn(differences: readonly Difference[]): string[] {
  return differences.filter(({ isByHand }) => isByHand).map(({ problem }) => problem);
}
