import type { Comparison, Difference } from '../capability-statements.js';
import type { SqlRecord, SqlStatement, SqlSteps } from '../sql-statement.js';
import { quoteName, type TableName } from '../table-name.js';
import { SIDE_TABLES } from '../table-origin.js';
import { LIST, list } from './columns.js';
import { type Catalog, columnsOf, findForeignSides, foreignTable, isOurs } from './foreign-table.js';
import {
  COLUMNS,
  type ColumnSpec,
  createIndex,
  createStatements,
  INDEXES,
  type IndexSpec,
} from './schema.js';
import { createSideTable } from './side-tables.js';

export function* compare(table: TableName): SqlSteps<Comparison> {
  const found = yield findTables(table);
  const columns = yield describeColumns(table);
  const indexes = yield describeIndexes(table);
  const tables = new Map(
    found.map(({ name, type, sql }) => [String(name), { isTable: type === 'table', create: String(sql) }]),
  );
  return comparison(table, { tables, columns, indexes });
}

function comparison(table: TableName, catalog: Catalog): Comparison {
  const foreignSides = findForeignSides(table, catalog);
  const isThere = catalog.tables.has(table.table);
  if (isThere && !isOurs(table, catalog)) {
    return { foreign: foreignTable(table, catalog, differences(table, catalog)), differences: [] };
  }
  if (foreignSides) return { foreign: foreignSides, differences: [] };
  if (isThere) return { differences: differences(table, catalog) };
  return { differences: [required(`table ${table.sql} does not exist`, createStatements(table))] };
}

function findTables(table: TableName): SqlStatement {
  return {
    text: `select name, type, sql from ${masterOf(table)} where type in ('table', 'view') and name in ${LIST}`,
    values: [list(allTables(table))],
  };
}

function describeColumns(table: TableName): SqlStatement {
  return {
    text: `
      select m.name as table_of, c.name, lower(c.type) as type, c.pk, c."notnull" as not_null, c.dflt_value as value
      from ${masterOf(table)} m join pragma_table_info(m.name, ?) c
      where m.type in ('table', 'view') and m.name in ${LIST}`,
    values: [databaseOf(table), list(allTables(table))],
  };
}

function allTables({ table }: TableName): string[] {
  return ['', ...SIDE_TABLES].map((suffix) => `${table}${suffix}`);
}

function describeIndexes(table: TableName): SqlStatement {
  return {
    text: `
      select i.name, i."unique" as is_unique, i.partial as is_partial, m.sql,
        (select group_concat(name) from (select name from pragma_index_info(i.name, ?) order by seqno)) as columns
      from pragma_index_list(?, ?) i
      left join ${masterOf(table)} m on m.type = 'index' and m.name = i.name`,
    values: [databaseOf(table), table.table, databaseOf(table)],
  };
}

function differences(table: TableName, catalog: Catalog): Difference[] {
  const { tables, indexes } = catalog;
  const columns = columnsOf(catalog, table.table);
  return [
    ...COLUMNS.flatMap((spec) => columnDifference(table, spec, columns)),
    ...seqDifference(columns, tables.get(table.table)?.create ?? ''),
    ...idDifference(table, indexes),
    ...INDEXES.flatMap((spec) => indexDifference(table, spec, indexes)),
    ...sideTableDifferences(table, tables),
  ];
}

function columnDifference(table: TableName, spec: ColumnSpec, columns: readonly SqlRecord[]): Difference[] {
  const column = columns.find(({ name }) => name === spec.name);
  if (!column) return [required(`column ${spec.name} is missing`, addColumn(table, spec))];
  const fits =
    column.type === spec.type || (spec.type === 'text' && /char|clob|text/.test(String(column.type)));
  return fits ? [] : [unalterable(`column ${spec.name} is ${column.type}, not ${spec.type}`)];
}

/** SQLite can add a NOT NULL column only with a constant default; otherwise it stays nullable, but every insert fills it. */
function addColumn(
  table: TableName,
  { name, type, notNull, default: value, backfill }: ColumnSpec,
): string[] {
  const isConstant = value !== undefined && /^\d+$/.test(value);
  const filled = notNull && isConstant ? ` not null default ${value}` : '';
  const fill = backfill ?? (isConstant ? undefined : value);
  return [
    `alter table ${table.sql} add column "${name}" ${type}${filled}`,
    ...(fill ? [`update ${table.sql} set "${name}" = ${fill} where "${name}" is null`] : []),
  ];
}

function seqDifference(columns: readonly SqlRecord[], create: string): Difference[] {
  const column = columns.find(({ name }) => name === 'seq');
  if (column?.type === 'integer' && column.pk === 1 && /autoincrement/i.test(create)) return [];
  return [unalterable('column seq is not integer primary key autoincrement')];
}

function idDifference(table: TableName, indexes: readonly SqlRecord[]): Difference[] {
  const isUnique = indexes.some(
    ({ columns, is_unique, is_partial }) => columns === 'id' && is_unique === 1 && is_partial === 0,
  );
  if (isUnique) return [];
  return [
    required('id is not unique', [`create unique index ${table.quoted('_id')} on ${table.part('')} ("id")`]),
  ];
}

function indexDifference(table: TableName, spec: IndexSpec, indexes: readonly SqlRecord[]): Difference[] {
  const isThere = indexes.some(
    ({ columns, sql }) => columns === spec.columns.join() && predicateOf(sql) === normalized(spec.where),
  );
  if (isThere) return [];
  const name = `${table.table}${spec.suffix}`;
  const isNameTaken = indexes.some((index) => index.name === name);
  const what = isNameTaken ? 'has other columns or another predicate' : 'is missing';
  return [
    required(`index ${name} on (${spec.columns.join(', ')}) where ${spec.where} ${what}`, [
      ...(isNameTaken ? [`drop index if exists ${table.quoted(spec.suffix)}`] : []),
      createIndex(table, spec),
    ]),
  ];
}

function sideTableDifferences(table: TableName, tables: Catalog['tables']): Difference[] {
  return SIDE_TABLES.filter((suffix) => !tables.has(`${table.table}${suffix}`)).map((suffix) =>
    required(`table ${table.quoted(suffix)} is missing`, createSideTable(table, suffix)),
  );
}

/** SQLite's ALTER TABLE can't change a column's type or a key, and only the owner may move the rows to a new table. */
function unalterable(problem: string): Difference {
  const fix = "which SQLite can't alter: rename the table, let ensure() create a new one, and copy the rows";
  return { ...required(`${problem}, ${fix}`, []), isByHand: true };
}

function required(problem: string, statements: readonly string[]): Difference {
  return { level: 'required', problem, statements };
}

function predicateOf(create: unknown): string | undefined {
  const [, where] = String(create).split(/\bwhere\b/i);
  return where === undefined ? undefined : normalized(where);
}

function normalized(condition: string): string {
  return condition.toLowerCase().replaceAll(/[()"\s]/g, '');
}

function databaseOf({ schema }: TableName): string {
  return schema ?? 'main';
}

function masterOf(table: TableName): string {
  return `${quoteName(databaseOf(table))}.sqlite_master`;
}
