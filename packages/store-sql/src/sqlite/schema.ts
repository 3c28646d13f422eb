import type { SqlStatement } from '../sql-statement.js';
import type { TableName } from '../table-name.js';
import { SIDE_TABLES } from '../table-origin.js';
import { NOW } from './columns.js';
import { createSideTable } from './side-tables.js';

/** Increment when the table below changes; `docs/operations/schema.md` lists the changes of each version. */
const SCHEMA_VERSION = 2;

export interface ColumnSpec {
  readonly name: string;
  readonly type: 'text' | 'integer';
  readonly notNull?: boolean;
  readonly default?: string;
  /** SQL that fills the rows of an older or adopted table. Defaults to `default`, or null. */
  readonly backfill?: string;
}

/** The columns of every database, in SQLite's types: times are milliseconds since 1970, JSON is text. */
export const COLUMNS: readonly ColumnSpec[] = [
  { name: 'id', type: 'text', notNull: true, backfill: 'lower(hex(randomblob(16)))' },
  { name: 'topic', type: 'text', notNull: true, backfill: "'adopted'" },
  { name: 'payload', type: 'text' },
  { name: 'key', type: 'text' },
  { name: 'headers', type: 'text' },
  { name: 'created_at', type: 'integer', notNull: true, default: NOW },
  { name: 'available_at', type: 'integer', notNull: true, default: NOW, backfill: 'created_at' },
  { name: 'dispatched_at', type: 'integer' },
  { name: 'dead_at', type: 'integer' },
  { name: 'dead_reason', type: 'text' },
  { name: 'attempts', type: 'integer', notNull: true, default: '0' },
  { name: 'retakes', type: 'integer', notNull: true, default: '0' },
  { name: 'last_error', type: 'text' },
  { name: 'claim_token', type: 'text' },
  { name: 'claimed_at', type: 'integer' },
  { name: 'claimed_until', type: 'integer', backfill: 'claimed_at + 300000' },
  { name: 'claimed_key', type: 'text' },
  { name: 'max_attempts', type: 'integer' },
  { name: 'backoff', type: 'text' },
];

export interface IndexSpec {
  readonly suffix: string;
  readonly columns: readonly string[];
  readonly where: string;
}

/** The hot indexes hold pending rows only, so a million dispatched rows cost a claim nothing. */
export const INDEXES: readonly IndexSpec[] = [
  {
    suffix: '_due',
    columns: ['available_at', 'seq'],
    where: 'dispatched_at is null and dead_at is null and key is null',
  },
  {
    suffix: '_keyed_due',
    columns: ['available_at', 'seq'],
    where: 'dispatched_at is null and dead_at is null and key is not null',
  },
  {
    suffix: '_keyed',
    columns: ['key', 'seq'],
    where: 'dispatched_at is null and dead_at is null and key is not null',
  },
  { suffix: '_claimed_key', columns: ['claimed_key'], where: 'claimed_key is not null' },
  { suffix: '_dispatched', columns: ['dispatched_at'], where: 'dispatched_at is not null' },
  { suffix: '_dead', columns: ['dead_at'], where: 'dead_at is not null' },
];

const CHECKS: ReadonlyArray<readonly [suffix: string, condition: string]> = [
  [
    '_claim_check',
    '(claim_token is null) = (claimed_at is null) and (claim_token is null) = (claimed_until is null)',
  ],
  ['_state_check', 'dispatched_at is null or dead_at is null'],
];

export const TITLE = `Postcommit outbox on SQLite, schema version ${SCHEMA_VERSION}`;

/**
 * Every statement is idempotent.
 *
 * STRICT: otherwise a time written as text stays text, which compares greater than every number, so the row would never
 * be due. AUTOINCREMENT: otherwise the number of a deleted row could be reused.
 */
export function createStatements(table: TableName): string[] {
  const lines = [
    '"seq" integer primary key autoincrement',
    ...COLUMNS.map(columnLine),
    'unique ("id")',
    ...CHECKS.map(([suffix, condition]) => `constraint ${table.part(suffix)} check (${condition})`),
  ];
  return [
    `create table if not exists ${table.sql} (\n  ${lines.join(',\n  ')}\n) strict`,
    ...INDEXES.map((index) => createIndex(table, index)),
    ...SIDE_TABLES.flatMap((suffix) => createSideTable(table, suffix)),
  ];
}

function columnLine({ name, type, notNull, default: value }: ColumnSpec): string {
  return [`"${name}" ${type}`, notNull && 'not null', value && `default (${value})`]
    .filter(Boolean)
    .join(' ');
}

export function createIndex(table: TableName, { suffix, columns, where }: IndexSpec): string {
  const list = columns.map((name) => `"${name}"`).join(', ');
  return `create index if not exists ${table.quoted(suffix)} on ${table.part('')} (${list}) where ${where}`;
}

/** BEGIN IMMEDIATE admits one writer, which already serializes instances that start at the same time. */
export function lockSchema(): SqlStatement {
  return { text: 'select 1', values: [] };
}
