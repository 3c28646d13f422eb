import type { Comparison, Difference } from '../capability-statements.js';
import type { SqlSteps } from '../sql-statement.js';
import { nameInText, quoteText, type TableName } from '../table-name.js';
import { SIDE_TABLES } from '../table-origin.js';
import { structureDifferences } from './check-structure.js';
import {
  type Catalog,
  type Column,
  type Constraint,
  describeTable,
  type Index,
  toCatalog,
} from './describe-table.js';
import { findForeignSides, foreignTable, isOurs } from './foreign-table.js';
import {
  CHECKS,
  COLUMNS,
  type ColumnSpec,
  createIndex,
  createStatements,
  INDEXES,
  type IndexSpec,
  markTable,
  STORAGE,
  schemaTitle,
  storage,
} from './schema.js';
import { createSideTable } from './side-tables.js';

/** Claims change these columns: an index on one of them makes every claim write every index. */
const CLAIM_COLUMNS = ['claim_token', 'claimed_at', 'claimed_until', 'retakes'];

export function* compare(table: TableName): SqlSteps<Comparison> {
  return comparison(table, toCatalog(yield describeTable(table)));
}

function comparison(table: TableName, catalog: Catalog): Comparison {
  const foreignSides = findForeignSides(table, catalog);
  if (catalog.kind === undefined) {
    if (foreignSides) return { foreign: foreignSides, differences: [] };
    return { differences: [required(`table ${table.sql} does not exist`, createStatements(table))] };
  }
  const columns = columnDifferences(table, catalog);
  const others = otherDifferences(table, catalog);
  if (!isOurs(catalog))
    return { foreign: foreignTable(table, catalog, { columns, others }), differences: [] };
  if (foreignSides) return { foreign: foreignSides, differences: [] };
  return { differences: [...columns, ...others, ...markDifference(table, catalog)] };
}

function columnDifferences(table: TableName, { columns }: Catalog): Difference[] {
  return [
    ...COLUMNS.flatMap((spec) => columnDifference(table, spec, columns)),
    ...seqDifference(table, columns),
  ];
}

function otherDifferences(table: TableName, catalog: Catalog): Difference[] {
  const { indexes } = catalog;
  return [
    ...structureDifferences(table, catalog),
    ...primaryKeyDifference(table, catalog),
    ...INDEXES.flatMap((spec) => indexDifference(table, spec, indexes)),
    ...constraintDifferences(table, catalog.constraints),
    ...sideTableDifferences(table, catalog),
    ...harmfulIndexes(table, indexes),
    ...storageDifference(table, catalog),
  ];
}

/** Without the mark, the table is recognized only by its columns, and no longer once one of them is dropped. */
function markDifference(table: TableName, { columnComment }: Catalog): Difference[] {
  if (columnComment === schemaTitle()) return [];
  const problem = `comment of column id, which marks the version, is not '${schemaTitle()}'`;
  return [{ level: 'tuning', problem, statements: [markTable(table)] }];
}

function columnDifference(table: TableName, spec: ColumnSpec, columns: readonly Column[]): Difference[] {
  const column = columns.find(({ name }) => name === spec.name);
  if (!column) return [required(`column ${spec.name} is missing`, addColumn(table, spec))];
  const alter = `alter table ${table.sql} alter column "${spec.name}"`;
  const setDefault = spec.default && !column.filled ? [`${alter} set default ${spec.default}`] : [];
  if (isTime(spec) && /^timestamp(\(\d\))? without time zone$/.test(column.type)) {
    const problem = `column ${spec.name} is a timestamp without zone: claims would look stale in another zone`;
    const change = `${alter} type timestamp with time zone using "${spec.name}" at time zone 'UTC'`;
    return [required(problem, [change, ...setDefault])];
  }
  if (!hasType(column, spec)) {
    return [
      required(`column ${spec.name} is ${column.type}, not ${spec.type}`, changeType(alter, spec, column)),
    ];
  }
  return setDefault.length > 0 ? [required(`column ${spec.name} has no default`, setDefault)] : [];
}

/** Cast to `text`: a cast to a shorter type would truncate, while the assignment fails instead. */
function changeType(alter: string, { name, type, default: value }: ColumnSpec, column: Column): string[] {
  const cast = type.startsWith('character varying') ? 'text' : type;
  return [
    ...(column.filled ? [`${alter} drop identity if exists`, `${alter} drop default`] : []),
    `${alter} type ${type} using "${name}"::${cast}`,
    ...(value ? [`${alter} set default ${value}`] : []),
  ];
}

/** Backfill before `not null`, and set the default last, so that old rows get their own values. */
function addColumn(
  table: TableName,
  { name, type, notNull, default: value, backfill }: ColumnSpec,
): string[] {
  const alter = `alter table ${table.sql}`;
  const fill = backfill ?? value;
  return [
    `${alter} add column if not exists "${name}" ${type}`,
    ...(fill ? [`update ${table.sql} set "${name}" = ${fill} where "${name}" is null`] : []),
    ...(value ? [`${alter} alter column "${name}" set default ${value}`] : []),
    ...(notNull ? [`${alter} alter column "${name}" set not null`] : []),
  ];
}

function isTime({ type }: ColumnSpec): boolean {
  return type.startsWith('timestamp');
}

/** Ignores precision, and accepts longer or unbounded text. */
function hasType(column: Column, spec: ColumnSpec): boolean {
  const bare = (type: string): string => type.replace(/\(\d+\)/, '');
  const isText = spec.type === 'text' || spec.type.startsWith('character varying');
  return bare(column.type) === bare(spec.type) || (isText && column.type === 'text');
}

function seqDifference(table: TableName, columns: readonly Column[]): Difference[] {
  const column = columns.find(({ name }) => name === 'seq');
  if (column?.type === 'bigint' && column.filled) return [];
  const problem = column ? 'column seq must be a bigint with a sequence' : 'column seq is missing';
  return [required(problem, fillSeq(table, column?.filled ?? false))];
}

/** Number rows in the order they were stored, because that is the order in which they are published. */
function fillSeq(table: TableName, hasSequence: boolean): string[] {
  const alter = `alter table ${table.sql} alter column "seq"`;
  return [
    `alter table ${table.sql} add column if not exists "seq" bigint`,
    `${alter} type bigint`,
    `update ${table.sql} o set seq = n.place
from (
  select tableoid, ctid, row_number() over (order by created_at, tableoid, ctid) + (select coalesce(max(seq), 0) from ${table.sql}) as place
  from ${table.sql} where seq is null
) n
where o.tableoid = n.tableoid and o.ctid = n.ctid`,
    `${alter} set not null`,
    ...(hasSequence ? [] : [`${alter} add generated by default as identity`]),
    `select setval(pg_get_serial_sequence(${quoteText(table.sql)}, 'seq'), (select coalesce(max(seq), 0) + 1 from ${table.sql}), false)`,
  ];
}

/** If the partition key makes uniqueness impossible, `partitionDifference` reports that instead. */
function primaryKeyDifference(table: TableName, { indexes, partitionColumns }: Catalog): Difference[] {
  const isUnique = indexes.some(
    ({ columns, unique, where }) => unique && where === null && columns.map(unquoted).join() === 'id',
  );
  if (isUnique || partitionColumns?.some((name) => name !== 'id')) return [];
  const hasPrimary = indexes.some(({ primary }) => primary);
  const add = hasPrimary
    ? `create unique index ${table.part('_id')} on ${table.sql} ("id")`
    : `alter table ${table.sql} add primary key ("id")`;
  return [required('id is not unique', [add])];
}

function indexDifference(table: TableName, spec: IndexSpec, indexes: readonly Index[]): Difference[] {
  const sameColumns = indexes.filter(({ columns }) => columns.map(unquoted).join() === spec.columns.join());
  if (sameColumns.some(({ where, valid }) => valid && normalized(where) === normalized(spec.where)))
    return [];
  const name = `${table.table}${spec.suffix}`;
  const isNameTaken = indexes.some((index) => index.name === name);
  const drop = isNameTaken ? [`drop index if exists ${table.quoted(spec.suffix)}`] : [];
  const what = isNameTaken ? 'has other columns or another predicate, or is not valid' : 'is missing';
  return [
    required(`index ${name} on (${spec.columns.join(', ')}) where ${spec.where} ${what}`, [
      ...drop,
      createIndex(table, spec),
    ]),
  ];
}

function constraintDifferences(table: TableName, constraints: readonly Constraint[]): Difference[] {
  const checks = constraints
    .filter(({ type }) => type === 'c')
    .map(({ definition }) => normalized((definition ?? '').replace(/^CHECK/, '')));
  return CHECKS.filter(({ condition }) => !checks.includes(normalized(condition))).map(
    ({ suffix, condition }) => {
      const name = table.part(suffix);
      return required(`constraint ${name} is missing: ${condition}`, [
        `alter table ${table.sql} drop constraint if exists ${name}`,
        `alter table ${table.sql} add constraint ${name} check (${condition})`,
      ]);
    },
  );
}

function sideTableDifferences(table: TableName, { sides }: Catalog): Difference[] {
  return SIDE_TABLES.filter((suffix) => !sides[suffix]).map((suffix) =>
    required(`table ${table.quoted(suffix)} is missing`, createSideTable(table, suffix)),
  );
}

function harmfulIndexes(table: TableName, indexes: readonly Index[]): Difference[] {
  return indexes.filter(hasClaimColumn).map(({ name, columns }) => ({
    level: 'tuning',
    problem: `index ${nameInText(name)} on (${columns.join(', ')}) makes every claim write every index`,
    statements: [`drop index if exists ${table.beside(name)}`],
  }));
}

/** A column in the key, an INCLUDE column and one in the predicate each rule out HOT updates. */
function hasClaimColumn({ columns, included, where }: Index): boolean {
  const words = [...columns, ...(included ?? []), where ?? ''].join(' ').split(/\W+/);
  return words.some((word) => CLAIM_COLUMNS.includes(word));
}

/** A partitioned table has no storage parameters of its own. */
function storageDifference(table: TableName, { kind, storage: options }: Catalog): Difference[] {
  if (kind === 'p') return [];
  const set = new Map(options.split(',').map((option) => option.split('=') as [string, string]));
  const missing = Object.fromEntries(
    Object.entries(STORAGE).filter(([name, value]) => set.get(name) !== value),
  );
  if (Object.keys(missing).length === 0) return [];
  const problem = `storage settings differ: ${storage(missing)} is advised`;
  return [{ level: 'tuning', problem, statements: [`alter table ${table.sql} set (${storage(missing)})`] }];
}

function required(problem: string, statements: readonly string[]): Difference {
  return { level: 'required', problem, statements };
}

function unquoted(column: string): string {
  return column.replaceAll('"', '');
}

/** The catalog changes parentheses, quotes, spaces and case. */
function normalized(condition: string | null): string {
  return (condition ?? '').toLowerCase().replaceAll(/[()"\s]/g, '');
}
