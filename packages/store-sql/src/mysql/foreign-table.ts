import type { ForeignTable } from '../capability-statements.js';
import type { SqlRecord } from '../sql-statement.js';
import { quoteName, type TableName } from '../table-name.js';
import {
  DOCUMENT_COLUMNS,
  foreignSideTables,
  hasExactly,
  isMarked,
  mustBeFilled,
  notOurs,
  SIDE_COLUMNS,
  SIDE_TABLES,
} from '../table-origin.js';
import { END_CLAIM, NOW } from './columns.js';
import { COLUMNS, markTable } from './schema.js';

/** What the catalog says about the tables. */
export interface Catalog {
  readonly tables: readonly SqlRecord[];
  /** Of all tables. */
  readonly columns: readonly SqlRecord[];
  readonly indexes: readonly SqlRecord[];
  /** CHECK constraints and foreign keys, including those of other tables that reference this one. */
  readonly constraints: readonly SqlRecord[];
}

const OUR_COLUMNS = [...COLUMNS.map(({ name }) => name), 'seq'];

/** The types that Prisma uses for the columns of the model in document 002. */
const DOCUMENT_TYPES: Readonly<Record<string, RegExp>> = {
  id: /^varchar\(36\)$/,
  topic: /^varchar\(255\)$/,
  payload: /^(json|longtext)$/,
  claim_token: /^varchar\(36\)$/,
  attempts: /^int(\(\d+\))?$/,
  last_error: /^(varchar\(191\)|\w*text)$/,
};
const TIME = /^datetime(\(\d\))?$/;

/** A table is ours by its mark, or as the Prisma model of document 002. Nothing else creates our table on these servers. */
export function isOurs(own: SqlRecord, columns: readonly SqlRecord[]): boolean {
  return isTable(own) && (isMarked(own.comment) || isDocumentTable(columns));
}

function isTable({ kind }: SqlRecord): boolean {
  return kind === 'BASE TABLE' || kind === 'SYSTEM VERSIONED';
}

function isDocumentTable(columns: readonly SqlRecord[]): boolean {
  const names = columns.map(({ name }) => String(name));
  const fits = ({ name, type }: SqlRecord): boolean =>
    (DOCUMENT_TYPES[String(name)] ?? TIME).test(String(type).toLowerCase());
  return hasExactly(names, DOCUMENT_COLUMNS) && columns.every(fits);
}

export function columnsOf({ columns }: Catalog, table: string): readonly SqlRecord[] {
  return columns.filter(({ table_of }) => table_of === table);
}

export function findForeignSides(table: TableName, catalog: Catalog): ForeignTable | undefined {
  const foreign = SIDE_TABLES.filter((suffix) =>
    isForeignSide(catalog, `${table.table}${suffix}`, SIDE_COLUMNS[suffix]),
  );
  return foreign.length > 0 ? foreignSideTables(foreign.map((suffix) => table.quoted(suffix))) : undefined;
}

function isForeignSide(catalog: Catalog, name: string, expected: readonly string[]): boolean {
  const side = catalog.tables.find((each) => each.name === name);
  if (!side) return false;
  const columns = columnsOf(catalog, name);
  const has = (column: string): boolean => columns.some((each) => each.name === column);
  return !isTable(side) || !expected.every(has) || unfilled(columns, expected).length > 0;
}

/** Unknown columns that every insert must fill. */
function unfilled(columns: readonly SqlRecord[], ours: readonly string[]): readonly SqlRecord[] {
  return columns.filter(
    ({ name, nullable, value, extra }) =>
      nullable === 'NO' &&
      value === null &&
      !/auto_increment|generated/i.test(String(extra)) &&
      !ours.includes(String(name)),
  );
}

/** The column changes, and those that must come after all rows have ended. */
export interface AdoptionStatements {
  readonly columns: readonly string[];
  readonly others: readonly string[];
}

export function foreignTable(
  table: TableName,
  catalog: Catalog,
  { columns, others }: AdoptionStatements,
): ForeignTable {
  return {
    problem: notOurs(table.sql),
    obstacles: obstacles(table, catalog),
    adoption: [
      // Otherwise the server may truncate a text that is too long.
      "set session sql_mode = concat(@@sql_mode, ',STRICT_ALL_TABLES')",
      ...fillColumns(table, columnsOf(catalog, table.table)),
      ...columns,
      endRows(table),
      ...others,
      markTable(table),
    ],
    restore: ['set session sql_mode = default'],
  };
}

/** Runs before the columns become NOT NULL. */
function fillColumns(table: TableName, columns: readonly SqlRecord[]): string[] {
  return COLUMNS.flatMap(({ name, notNull, backfill, default: value }) => {
    const isNullable = columns.some((column) => column.name === name && column.nullable === 'YES');
    if (!notNull || !isNullable) return [];
    // `created_at`, the backfill of `available_at`, may still be missing.
    return [`update ${table.sql} set \`${name}\` = ${value ?? backfill} where \`${name}\` is null`];
  });
}

/** Leaves no row pending, since it is unknown which of them were sent. */
function endRows(table: TableName): string {
  return `update ${table.sql} set dispatched_at = coalesce(dispatched_at, ${NOW}), dead_at = null, dead_reason = null, ${END_CLAIM}`;
}

function obstacles(table: TableName, catalog: Catalog): string[] {
  const own = catalog.tables.find(({ name }) => name === table.table);
  if (!own || !isTable(own)) return [`${table.sql} is not a table, but a view or the like: rename it`];
  const columns = columnsOf(catalog, table.table);
  return [
    ...(findForeignSides(table, catalog)?.obstacles ?? []),
    ...unfilled(columns, OUR_COLUMNS).map(({ name }) =>
      mustBeFilled(quoted(name), 'let it be null, or give it a default'),
    ),
    ...columns
      .filter(
        ({ name, extra }) => /auto_increment/i.test(String(extra)) && !OUR_COLUMNS.includes(String(name)),
      )
      .map(
        ({ name }) =>
          `column ${quoted(name)} is auto-increment, which only one column of a table can be: drop it`,
      ),
    ...constraintObstacles(table, catalog, columns),
  ];
}

/** What may reject our rows, or a change of a column's type. */
function constraintObstacles(table: TableName, catalog: Catalog, columns: readonly SqlRecord[]): string[] {
  // MariaDB implements JSON as text with a check named after its column.
  const isJson = (constraint: SqlRecord): boolean =>
    columns.some(({ name, type }) => name === constraint.name && /^longtext|^json/i.test(String(type)));
  const touchesOurs = ({ columns: list }: SqlRecord): boolean =>
    String(list)
      .split(',')
      .some((column) => OUR_COLUMNS.includes(column));
  return [
    ...catalog.constraints
      .filter((constraint) => !isJson(constraint) && !isOurCheck(table, constraint))
      .map(({ name }) => `constraint ${quoted(name)} may reject rows of the outbox, or its changes: drop it`),
    ...catalog.indexes
      .filter((index) => Number(index.non_unique) === 0 && index.name !== 'PRIMARY' && index.columns !== 'id')
      .filter((index) => touchesOurs(index))
      .map(
        ({ name, columns: list }) =>
          `index ${quoted(name)} allows each value of (${String(list)}) only once: drop it`,
      ),
  ];
}

function isOurCheck(table: TableName, { name }: SqlRecord): boolean {
  return name === `${table.table}_claim_check` || name === `${table.table}_state_check`;
}

function quoted(name: unknown): string {
  return quoteName(String(name), '`');
}
