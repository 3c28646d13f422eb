import type { Comparison, Difference } from '../capability-statements.js';
import type { SqlRecord, SqlSteps } from '../sql-statement.js';
import type { TableName } from '../table-name.js';
import { SIDE_TABLES, statementsOf } from '../table-origin.js';
import { EXACT_COLLATIONS } from './columns.js';
import { describeColumns, describeConstraints, describeIndexes, describeTables } from './describe-table.js';
import { type Catalog, columnsOf, findForeignSides, foreignTable, isOurs } from './foreign-table.js';
import {
  CHECKS,
  COLUMNS,
  type ColumnSpec,
  checkDefinition,
  columnDefinition,
  createStatements,
  DUE_TIME,
  INDEXES,
  type IndexSpec,
  indexDefinition,
  markTable,
  SEQ,
  schemaTitle,
} from './schema.js';
import { createSideTable } from './side-tables.js';

/** Compares the catalog with what the store needs. */
export function* compare(table: TableName): SqlSteps<Comparison> {
  return comparison(table, {
    tables: yield describeTables(table),
    columns: yield describeColumns(table),
    indexes: yield describeIndexes(table),
    constraints: yield describeConstraints(table),
  });
}

function comparison(table: TableName, catalog: Catalog): Comparison {
  const own = catalog.tables.find(({ name }) => name === table.table);
  const foreignSides = findForeignSides(table, catalog);
  if (!own) {
    if (foreignSides) return { foreign: foreignSides, differences: [] };
    return { differences: [required(`table ${table.sql} does not exist`, createStatements(table))] };
  }
  const columns = columnsOf(catalog, table.table);
  const changes = columnDifferences(table, own, columns, catalog.indexes);
  const others = otherDifferences(table, catalog);
  if (!isOurs(own, columns)) {
    const statements = { columns: statementsOf(changes), others: statementsOf(others) };
    return { foreign: foreignTable(table, catalog, statements), differences: [] };
  }
  if (foreignSides) return { foreign: foreignSides, differences: [] };
  return { differences: [...markDifference(table, own), ...changes, ...others] };
}

/** Runs first, so that an interrupted upgrade leaves a table that is recognized as ours. */
function markDifference(table: TableName, { comment }: SqlRecord): Difference[] {
  if (comment === schemaTitle()) return [];
  const problem = `comment of table ${table.sql}, which marks the version, is not '${schemaTitle()}'`;
  return [{ level: 'tuning', problem, statements: [markTable(table)] }];
}

function columnDifferences(
  table: TableName,
  own: SqlRecord,
  columns: readonly SqlRecord[],
  indexes: readonly SqlRecord[],
): Difference[] {
  return [
    ...engineDifference(table, own),
    ...COLUMNS.flatMap((spec) => columnDifference(table, spec, columns)),
    ...seqDifference(table, columns, indexes),
  ];
}

function otherDifferences(table: TableName, { tables, indexes, constraints }: Catalog): Difference[] {
  return [
    ...INDEXES.flatMap((spec) => indexDifference(table, spec, indexes)),
    ...checkDifferences(table, constraints),
    ...sideTableDifferences(table, tables),
  ];
}

function sideTableDifferences(table: TableName, tables: readonly SqlRecord[]): Difference[] {
  return SIDE_TABLES.filter((suffix) => !tables.some(({ name }) => name === `${table.table}${suffix}`)).map(
    (suffix) => required(`table ${table.quoted(suffix)} is missing`, createSideTable(table, suffix)),
  );
}

function engineDifference(table: TableName, { engine }: SqlRecord): Difference[] {
  if (String(engine).toLowerCase() === 'innodb') return [];
  return [
    required(`table ${table.sql} is stored by ${String(engine)}, which has no transactions`, [
      `alter table ${table.sql} engine = InnoDB`,
    ]),
  ];
}

function columnDifference(table: TableName, spec: ColumnSpec, columns: readonly SqlRecord[]): Difference[] {
  const column = columns.find(({ name }) => name === spec.name);
  if (!column) return [required(`column ${spec.name} is missing`, addColumn(table, spec))];
  const problem = columnProblem(spec, column);
  const modify = `alter table ${table.sql} modify ${columnDefinition(spec)}`;
  if (problem === undefined) return rejectsDefault(spec, column) ? [tuning(rejection(spec), [modify])] : [];
  const isZoned = String(column.type).startsWith('timestamp');
  return [required(`column ${spec.name} ${problem}`, isZoned ? inUtc(modify) : [modify])];
}

/** A TIMESTAMP is converted in the session's time zone. */
function inUtc(statement: string): string[] {
  return ["set time_zone = '+00:00'", statement, 'set time_zone = default'];
}

function columnProblem(spec: ColumnSpec, column: SqlRecord): string | undefined {
  const type = bareType(String(column.type));
  if (type !== spec.type) return `is ${type}, not ${spec.type}`;
  if (spec.isExact && !EXACT_COLLATIONS.includes(String(column.collation))) {
    return `is compared by ${String(column.collation)}, which treats different texts as equal`;
  }
  if (spec.generated && !/generated/i.test(String(column.extra))) return 'is not generated';
  if (spec.notNull && column.nullable === 'YES') return 'may be null';
  if (spec.default && column.value === null) return 'has no default';
  return undefined;
}

/** The original form of version 1. Harmless on MariaDB, which evaluates all defaults first. */
function rejectsDefault(spec: ColumnSpec, column: SqlRecord): boolean {
  const isDueTime = spec.generated?.includes(DUE_TIME) ?? false;
  return isDueTime && Number(column.on_mariadb) === 0 && !/greatest/i.test(String(column.expression));
}

function rejection({ name }: ColumnSpec): string {
  return `column ${name} makes MySQL reject an insert without available_at`;
}

/** Some servers report integers with a display width, others without. */
function bareType(type: string): string {
  return type.toLowerCase().replace(/^(int|bigint)\(\d+\)/, '$1');
}

/** Backfills before setting NOT NULL. */
function addColumn(table: TableName, spec: ColumnSpec): string[] {
  const add = `alter table ${table.sql} add column ${columnDefinition(spec)}`;
  if (spec.backfill === undefined) return [add];
  const { notNull, ...nullable } = spec;
  return [
    `alter table ${table.sql} add column ${columnDefinition(nullable)}`,
    `update ${table.sql} set \`${spec.name}\` = ${spec.backfill}`,
    ...(notNull ? [`alter table ${table.sql} modify ${columnDefinition(spec)}`] : []),
  ];
}

/** The server numbers existing rows in the order of the old primary key. */
function seqDifference(
  table: TableName,
  columns: readonly SqlRecord[],
  indexes: readonly SqlRecord[],
): Difference[] {
  const primary = indexes.find(({ name }) => name === 'PRIMARY');
  const column = columns.find(({ name }) => name === 'seq');
  const counts = /auto_increment/i.test(String(column?.extra));
  if (column && counts && primary?.columns === 'seq') return [];
  const steps = [
    ...(primary ? ['drop primary key'] : []),
    `${column ? 'modify' : 'add column'} ${SEQ}`,
    'add primary key (`seq`)',
  ];
  const alter = `alter table ${table.sql} ${steps.join(', ')}`;
  return [required('column seq is not an auto-increment primary key', [alter])];
}

function indexDifference(table: TableName, spec: IndexSpec, indexes: readonly SqlRecord[]): Difference[] {
  const name = `${table.table}${spec.suffix}`;
  const index = indexes.find((each) => each.name === name);
  const isUnique = Number(index?.non_unique) === 0;
  if (index && String(index.columns) === spec.columns.join() && (!spec.unique || isUnique)) return [];
  const drop = index ? `drop index ${table.part(spec.suffix)}, ` : '';
  const what = index ? 'has other columns' : 'is missing';
  return [
    required(`index ${name} on (${spec.columns.join(', ')}) ${what}`, [
      `alter table ${table.sql} ${drop}add ${indexDefinition(table, spec)}`,
    ]),
  ];
}

function checkDifferences(table: TableName, checks: readonly SqlRecord[]): Difference[] {
  return CHECKS.filter((check) => !checks.some(({ name }) => name === `${table.table}${check.suffix}`)).map(
    (check) =>
      required(`constraint ${table.table}${check.suffix} is missing: ${check.condition}`, [
        `alter table ${table.sql} add ${checkDefinition(table, check)}`,
      ]),
  );
}

function required(problem: string, statements: readonly string[]): Difference {
  return { level: 'required', problem, statements };
}

function tuning(problem: string, statements: readonly string[]): Difference {
  return { level: 'tuning', problem, statements };
}
