import type { SqlStatement } from '../sql-statement.js';
import type { TableName } from '../table-name.js';
import { MARK, SIDE_TABLES } from '../table-origin.js';
import { EXACT, NOW, PENDING, TABLE_OPTIONS, TIME } from './columns.js';
import { createSideTable } from './side-tables.js';

/** Increment when the table below changes; `docs/operations/schema.md` lists the changes of each version. */
const SCHEMA_VERSION = 2;

export interface ColumnSpec {
  readonly name: string;
  /** As the catalog reports it, without the display width of integers. */
  readonly type: string;
  /** For texts that are compared exactly: 'A' is not 'a', and 'a ' is not 'a'. */
  readonly isExact?: boolean;
  readonly notNull?: boolean;
  readonly default?: string;
  /** SQL that fills the rows of an older or adopted table. Defaults to `default`, or null. */
  readonly backfill?: string;
  readonly generated?: string;
}

/**
 * MySQL computes generated columns twice: before and after it evaluates a default that is an expression. The first time,
 * `available_at` is still the zero date, which MySQL refuses to store.
 */
export const DUE_TIME = "greatest(available_at, timestamp'1000-01-01 00:00:00')";

export const COLUMNS: readonly ColumnSpec[] = [
  { name: 'id', type: 'varchar(36)', isExact: true, notNull: true, backfill: 'uuid()' },
  { name: 'topic', type: 'varchar(255)', isExact: true, notNull: true, backfill: "'adopted'" },
  { name: 'payload', type: 'longtext' },
  { name: 'key', type: 'varchar(255)', isExact: true },
  { name: 'headers', type: 'longtext' },
  { name: 'created_at', type: TIME, notNull: true, default: `(${NOW})` },
  { name: 'available_at', type: TIME, notNull: true, default: `(${NOW})`, backfill: 'created_at' },
  { name: 'dispatched_at', type: TIME },
  { name: 'dead_at', type: TIME },
  { name: 'dead_reason', type: 'varchar(20)' },
  { name: 'attempts', type: 'int', notNull: true, default: '0' },
  { name: 'retakes', type: 'int', notNull: true, default: '0' },
  { name: 'last_error', type: 'mediumtext' },
  { name: 'claim_token', type: 'varchar(36)' },
  { name: 'claimed_at', type: TIME },
  { name: 'claimed_until', type: TIME, backfill: 'claimed_at + interval 5 minute' },
  { name: 'claimed_key', type: 'varchar(255)', isExact: true },
  { name: 'max_attempts', type: 'int' },
  { name: 'backoff', type: 'longtext' },
  // These replace partial indexes, which the server lacks: they are null on all other rows.
  { name: 'due_at', type: TIME, generated: `case when ${PENDING} and \`key\` is null then ${DUE_TIME} end` },
  {
    name: 'keyed_due_at',
    type: TIME,
    generated: `case when ${PENDING} and \`key\` is not null then ${DUE_TIME} end`,
  },
  {
    name: 'pending_key',
    type: 'varchar(255)',
    isExact: true,
    generated: `case when ${PENDING} then \`key\` end`,
  },
];

export interface IndexSpec {
  readonly suffix: string;
  readonly columns: readonly string[];
  readonly unique?: boolean;
}

export const INDEXES: readonly IndexSpec[] = [
  { suffix: '_id', columns: ['id'], unique: true },
  { suffix: '_due', columns: ['due_at', 'seq'] },
  { suffix: '_keyed_due', columns: ['keyed_due_at', 'seq'] },
  { suffix: '_keyed', columns: ['pending_key', 'seq'] },
  { suffix: '_claimed_key', columns: ['claimed_key'] },
  { suffix: '_dispatched', columns: ['dispatched_at'] },
  { suffix: '_dead', columns: ['dead_at'] },
];

export interface CheckSpec {
  readonly suffix: string;
  readonly condition: string;
}

export const CHECKS: readonly CheckSpec[] = [
  {
    suffix: '_claim_check',
    condition:
      '(claim_token is null) = (claimed_at is null) and (claim_token is null) = (claimed_until is null)',
  },
  { suffix: '_state_check', condition: 'dispatched_at is null or dead_at is null' },
];

/** Clusters rows by `seq`, the order in which they were enqueued. */
export const SEQ = '`seq` bigint not null auto_increment';

/** Every statement is idempotent. */
export function createStatements(table: TableName): string[] {
  const lines = [
    SEQ,
    ...COLUMNS.map(columnDefinition),
    'primary key (`seq`)',
    ...INDEXES.map((index) => indexDefinition(table, index)),
    ...CHECKS.map((check) => checkDefinition(table, check)),
  ];
  return [
    `create table if not exists ${table.sql} (\n  ${lines.join(',\n  ')}\n) ${TABLE_OPTIONS} comment '${schemaTitle()}'`,
    ...SIDE_TABLES.flatMap((suffix) => createSideTable(table, suffix)),
  ];
}

export function columnDefinition(spec: ColumnSpec): string {
  const { name, type, isExact, notNull, default: value, generated } = spec;
  return [
    `\`${name}\` ${type}`,
    isExact && EXACT,
    generated && `generated always as (${generated}) stored`,
    notNull && 'not null',
    value && `default ${value}`,
  ]
    .filter(Boolean)
    .join(' ');
}

export function indexDefinition(table: TableName, { suffix, columns, unique }: IndexSpec): string {
  return `${unique ? 'unique key' : 'key'} ${table.part(suffix)} (${columns.map((name) => `\`${name}\``).join(', ')})`;
}

export function checkDefinition(table: TableName, { suffix, condition }: CheckSpec): string {
  return `constraint ${table.part(suffix)} check (${condition})`;
}

export function schemaTitle(): string {
  return `${MARK}, schema version ${SCHEMA_VERSION}`;
}

export function markTable(table: TableName): string {
  return `alter table ${table.sql} comment = '${schemaTitle()}'`;
}

/** Longer than altering a large table takes. */
const LOCK_WAIT_SECONDS = 86_400;

/** Held by the session, since altering a table ends the transaction. */
export function lockSchema(table: TableName): SqlStatement {
  return { text: `select get_lock(${LOCK_NAME}, ${LOCK_WAIT_SECONDS})`, values: lockValues(table) };
}

export function unlockSchema(table: TableName): SqlStatement {
  return { text: `select release_lock(${LOCK_NAME})`, values: lockValues(table) };
}

/** Unique on the whole server, in at most 64 characters. MySQL 9.7 keeps `sha1` and `md5` in an optional component. */
const LOCK_NAME = "concat('postcommit_', left(sha2(concat(coalesce(?, database()), '.', ?), 256), 40))";

function lockValues({ schema, table }: TableName): unknown[] {
  return [schema ?? null, table];
}
