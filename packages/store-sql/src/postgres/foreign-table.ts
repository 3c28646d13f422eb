import type { Difference, ForeignTable } from '../capability-statements.js';
import { quoteName, type TableName } from '../table-name.js';
import {
  byHandIn,
  DOCUMENT_COLUMNS,
  foreignSideTables,
  hasExactly,
  hasFirstColumns,
  isMarked,
  mustBeFilled,
  notOurs,
  SIDE_COLUMNS,
  SIDE_TABLES,
  statementsOf,
} from '../table-origin.js';
import { END_CLAIM } from './columns.js';
import type { Catalog, Column, DescribedSide } from './describe-table.js';
import { COLUMNS, type ColumnSpec, markTable } from './schema.js';

const OUR_COLUMNS = [...COLUMNS.map(({ name }) => name), 'seq'];

/** A table is ours by its mark, by having all our columns (Prisma sets no mark), or as the Prisma model of document 002. */
export function isOurs({ kind, columns, columnComment, tableComment }: Catalog): boolean {
  const names = columns.map(({ name }) => name);
  return (
    isTable(kind) &&
    (isMarked(columnComment) || isMarked(tableComment) || hasFirstColumns(names) || isDocumentTable(columns))
  );
}

function isTable(kind: string | undefined): boolean {
  return kind === 'r' || kind === 'p';
}

function isDocumentTable(columns: readonly Column[]): boolean {
  const types = new Map(COLUMNS.map(({ name, type }) => [name, type]));
  const names = columns.map(({ name }) => name);
  return (
    hasExactly(names, DOCUMENT_COLUMNS) &&
    columns.every(({ name, type }) => type.replace(TIME, 'timestamp with time zone') === types.get(name))
  );
}

const TIME = /^timestamp(\(\d\))? with(out)? time zone$/;

export function findForeignSides(table: TableName, { sides }: Catalog): ForeignTable | undefined {
  const foreign = SIDE_TABLES.filter((suffix) => isForeignSide(sides[suffix], SIDE_COLUMNS[suffix]));
  return foreign.length > 0 ? foreignSideTables(foreign.map((suffix) => table.quoted(suffix))) : undefined;
}

function isForeignSide(side: DescribedSide | undefined, expected: readonly string[]): boolean {
  if (side === undefined) return false;
  const names = side.columns.map(({ name }) => name);
  return (
    !side.isTable ||
    !expected.every((name) => names.includes(name)) ||
    unfilled(side.columns, expected).length > 0
  );
}

/** Unknown columns that every insert must fill. */
function unfilled(columns: readonly Column[], ours: readonly string[]): readonly Column[] {
  return columns.filter(({ name, notNull, filled }) => notNull && !filled && !ours.includes(name));
}

export interface AdoptionDifferences {
  readonly columns: readonly Difference[];
  readonly others: readonly Difference[];
}

export function foreignTable(
  table: TableName,
  catalog: Catalog,
  { columns, others }: AdoptionDifferences,
): ForeignTable {
  return {
    problem: notOurs(table.sql),
    obstacles: obstacles(table, catalog, others),
    adoption: [
      `lock table ${table.sql} in access exclusive mode`,
      ...fillCreatedAt(table, catalog.columns),
      ...statementsOf(columns),
      endRows(table),
      ...COLUMNS.filter(({ notNull }) => notNull).map(
        ({ name }) => `alter table ${table.sql} alter column ${quoteName(name)} set not null`,
      ),
      ...statementsOf(others),
      markTable(table),
    ],
  };
}

/** Runs first, because the backfill of other columns uses `created_at`. */
function fillCreatedAt(table: TableName, columns: readonly Column[]): string[] {
  const isNullable = columns.some(({ name, notNull }) => name === 'created_at' && !notNull);
  return isNullable ? [`update ${table.sql} set "created_at" = now() where "created_at" is null`] : [];
}

/** Leaves no row pending, since it is unknown which of them were sent. */
function endRows(table: TableName): string {
  const fills = COLUMNS.filter(({ notNull }) => notNull).map(fill);
  const ended = `"dispatched_at" = coalesce("dispatched_at", now()), "dead_at" = null, "dead_reason" = null`;
  return `update ${table.sql} set ${ended}, ${END_CLAIM}, ${fills.join(', ')}`;
}

function fill({ name, backfill, default: value }: ColumnSpec): string {
  return `"${name}" = coalesce("${name}", ${backfill ?? value})`;
}

function obstacles(table: TableName, catalog: Catalog, differences: readonly Difference[]): string[] {
  if (!isTable(catalog.kind)) return [`${table.sql} is not a table, but a view or the like: rename it`];
  return [
    ...(findForeignSides(table, catalog)?.obstacles ?? []),
    ...unfilled(catalog.columns, OUR_COLUMNS).map(({ name }) =>
      mustBeFilled(
        quoteName(name),
        `alter table ${table.sql} alter column ${quoteName(name)} drop not null, or give it a default`,
      ),
    ),
    ...constraintObstacles(table, catalog),
    ...byHandIn(differences),
  ];
}

/** What may reject our rows, or a change of a column's type. */
function constraintObstacles(table: TableName, { constraints, indexes }: Catalog): string[] {
  const onOurs = (columns: readonly string[] | null): boolean =>
    (columns ?? []).some((column) => OUR_COLUMNS.includes(column.replaceAll('"', '')));
  const rules = constraints.filter(({ type, columns }) => 'cfx'.includes(type) && onOurs(columns));
  const unique = indexes.filter(
    (index) => index.unique && !index.primary && onOurs(index.columns) && index.columns.join() !== 'id',
  );
  return [
    ...rules.map(
      ({ name, definition }) =>
        `constraint ${quoteName(name)} may reject rows of the outbox (${definition}): alter table ${table.sql} drop constraint ${quoteName(name)}`,
    ),
    ...unique.map(
      ({ name, columns }) =>
        `index ${quoteName(name)} allows each value of (${columns.join(', ')}) only once: drop it, or its constraint`,
    ),
  ];
}
