import type { Difference, ForeignTable } from '../capability-statements.js';
import type { SqlRecord } from '../sql-statement.js';
import { quoteName, type TableName } from '../table-name.js';
import {
  byHandIn,
  foreignSideTables,
  hasFirstColumns,
  mustBeFilled,
  notOurs,
  SIDE_COLUMNS,
  SIDE_TABLES,
  statementsOf,
} from '../table-origin.js';
import { END_CLAIM, NOW } from './columns.js';
import { COLUMNS } from './schema.js';

/** What the catalog says about the tables. */
export interface Catalog {
  /** Type and CREATE statement of anything named like one of the tables. */
  readonly tables: ReadonlyMap<string, { readonly isTable: boolean; readonly create: string }>;
  /** Of all tables. */
  readonly columns: readonly SqlRecord[];
  readonly indexes: readonly SqlRecord[];
}

const OUR_COLUMNS = [...COLUMNS.map(({ name }) => name), 'seq'];

/** SQLite has no table comments: a table is ours by its check on claims, or by having all our columns. */
export function isOurs(table: TableName, catalog: Catalog): boolean {
  const own = catalog.tables.get(table.table);
  const names = columnsOf(catalog, table.table).map(({ name }) => String(name));
  const isMarked = /check \(\(claim_token is null\) = \(claimed_at is null\)/.test(own?.create ?? '');
  return own?.isTable === true && (isMarked || hasFirstColumns(names));
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
  const side = catalog.tables.get(name);
  if (!side) return false;
  const columns = columnsOf(catalog, name);
  const has = (column: string): boolean => columns.some((each) => each.name === column);
  return !side.isTable || !expected.every(has) || unfilled(columns, expected).length > 0;
}

/** Unknown columns that every insert must fill. */
function unfilled(columns: readonly SqlRecord[], ours: readonly string[]): readonly SqlRecord[] {
  return columns.filter(
    ({ name, not_null, value, pk }) =>
      not_null === 1 && value === null && pk === 0 && !ours.includes(String(name)),
  );
}

export function foreignTable(
  table: TableName,
  catalog: Catalog,
  differences: readonly Difference[],
): ForeignTable {
  return {
    problem: notOurs(table.sql),
    obstacles: obstacles(table, catalog, differences),
    adoption: [...statementsOf(differences), endRows(table)],
  };
}

/** Leaves no row pending, since it is unknown which of them were sent. */
function endRows(table: TableName): string {
  const fills = COLUMNS.filter(({ notNull }) => notNull).map(({ name, backfill, default: value }) => {
    const values = [`"${name}"`, backfill, value].filter((each) => each !== undefined);
    return `"${name}" = coalesce(${values.join(', ')})`;
  });
  return `update ${table.sql} set dispatched_at = coalesce(dispatched_at, ${NOW}), dead_at = null, dead_reason = null, ${END_CLAIM}, ${fills.join(', ')}`;
}

function obstacles(table: TableName, catalog: Catalog, differences: readonly Difference[]): string[] {
  if (catalog.tables.get(table.table)?.isTable !== true) {
    return [`${table.sql} is not a table, but a view: rename it`];
  }
  return [
    ...(findForeignSides(table, catalog)?.obstacles ?? []),
    ...unfilled(columnsOf(catalog, table.table), OUR_COLUMNS).map(({ name }) =>
      mustBeFilled(quoteName(String(name)), "SQLite can't alter it, so use another table name"),
    ),
    ...byHandIn(differences),
  ];
}
