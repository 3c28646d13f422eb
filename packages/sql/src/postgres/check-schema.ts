import type { Difference } from '../dialect.js';
import type { SqlRecord, SqlSteps } from '../sql-statement.js';
import type { TableName } from '../table-name.js';
import {
  CHECKS,
  COLUMNS,
  type ColumnSpec,
  createIndex,
  createStatements,
  describeTable,
  INDEXES,
  type IndexSpec,
  STORAGE,
  storage,
} from './schema.js';

interface Column {
  readonly name: string;
  readonly type: string;
  readonly notNull: boolean;
  readonly filled: boolean;
}

interface Index {
  readonly name: string;
  readonly columns: readonly string[];
  readonly where: string | null;
  readonly valid: boolean;
  readonly unique: boolean;
  /** Columns that are in the index but not part of its key. */
  readonly included: readonly string[] | null;
}

interface Constraint {
  readonly name: string;
  readonly type: string;
  readonly definition: string | null;
}

/** A claim changes these: an index with one of them makes every claim write every index. */
const CLAIM_COLUMNS = ['claim_token', 'claimed_at', 'claimed_until', 'retakes'];

export function* compare(table: TableName): SqlSteps<Difference[]> {
  return schemaDifferences(table, yield describeTable(table));
}

/** Compares what `describeTable` gave with what the store needs. */
function schemaDifferences(table: TableName, [record]: readonly SqlRecord[]): Difference[] {
  if (!record) {
    return [
      { level: 'required', problem: `table ${table} does not exist`, statements: createStatements(table) },
    ];
  }
  const columns = parse<Column>(record.columns);
  const indexes = parse<Index>(record.indexes);
  return [
    ...COLUMNS.flatMap((spec) => columnDifference(table, spec, columns)),
    ...seqDifference(table, columns),
    ...primaryKeyDifference(table, indexes),
    ...INDEXES.flatMap((spec) => indexDifference(table, spec, indexes)),
    ...constraintDifferences(table, parse<Constraint>(record.constraints)),
    ...sideTableDifference(table, record),
    ...harmfulIndexes(table, indexes),
    ...storageDifference(table, String(record.storage ?? '')),
  ];
}

function parse<T>(text: unknown): readonly T[] {
  return typeof text === 'string' ? JSON.parse(text) : [];
}

function columnDifference(table: TableName, spec: ColumnSpec, columns: readonly Column[]): Difference[] {
  const column = columns.find(({ name }) => name === spec.name);
  if (!column) return [required(`column ${spec.name} is missing`, addColumn(table, spec))];
  const alter = `alter table ${table} alter column "${spec.name}"`;
  const setDefault = spec.default && !column.filled ? [`${alter} set default ${spec.default}`] : [];
  if (isTime(spec) && /^timestamp(\(\d\))? without time zone$/.test(column.type)) {
    const problem = `column ${spec.name} is a timestamp without zone: claims would look stale in another zone`;
    const change = `${alter} type timestamp with time zone using "${spec.name}" at time zone 'UTC'`;
    return [required(problem, [change, ...setDefault])];
  }
  if (!hasType(column, spec)) {
    const change = `${alter} type ${spec.type} using "${spec.name}"::${spec.type}`;
    return [required(`column ${spec.name} is ${column.type}, not ${spec.type}`, [change, ...setDefault])];
  }
  return setDefault.length > 0 ? [required(`column ${spec.name} has no default`, setDefault)] : [];
}

/** The backfill comes before `not null`, and a default last, so that old rows get their own value. */
function addColumn(
  table: TableName,
  { name, type, notNull, default: value, backfill }: ColumnSpec,
): string[] {
  const alter = `alter table ${table}`;
  const fill = backfill ?? value;
  return [
    `${alter} add column if not exists "${name}" ${type}`,
    ...(fill ? [`update ${table} set "${name}" = ${fill} where "${name}" is null`] : []),
    ...(value ? [`${alter} alter column "${name}" set default ${value}`] : []),
    ...(notNull ? [`${alter} alter column "${name}" set not null`] : []),
  ];
}

function isTime({ type }: ColumnSpec): boolean {
  return type.startsWith('timestamp');
}

/** Precision does not matter to us, nor does a longer or unbounded text. */
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

/** Rows without a number get theirs in the order they were stored: it is the order they are published in. */
function fillSeq(table: TableName, hasSequence: boolean): string[] {
  const alter = `alter table ${table} alter column "seq"`;
  return [
    `alter table ${table} add column if not exists "seq" bigint`,
    `${alter} type bigint`,
    `update ${table} o set seq = n.place
from (
  select tableoid, ctid, row_number() over (order by created_at, ctid) + (select coalesce(max(seq), 0) from ${table}) as place
  from ${table} where seq is null
) n
where o.tableoid = n.tableoid and o.ctid = n.ctid`,
    `${alter} set not null`,
    ...(hasSequence ? [] : [`${alter} add generated by default as identity`]),
    `select setval(pg_get_serial_sequence('${table}', 'seq'), (select coalesce(max(seq), 0) + 1 from ${table}), false)`,
  ];
}

function primaryKeyDifference(table: TableName, indexes: readonly Index[]): Difference[] {
  const unique = indexes.some(
    ({ columns, unique: isUnique, where }) => isUnique && where === null && columns.join() === 'id',
  );
  return unique ? [] : [required('id is not unique', [`alter table ${table} add primary key ("id")`])];
}

function indexDifference(table: TableName, spec: IndexSpec, indexes: readonly Index[]): Difference[] {
  const sameColumns = indexes.filter(({ columns }) => columns.map(unquoted).join() === spec.columns.join());
  if (sameColumns.some(({ where, valid }) => valid && normalised(where) === normalised(spec.where)))
    return [];
  const name = `${table.table}${spec.suffix}`;
  const inTheWay = indexes.some((index) => index.name === name);
  const drop = inTheWay ? [`drop index if exists ${qualified(table, name)}`] : [];
  const what = inTheWay ? 'has other columns or another predicate, or is not valid' : 'is missing';
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
    .map(({ definition }) => normalised((definition ?? '').replace(/^CHECK/, '')));
  return CHECKS.filter(({ condition }) => !checks.includes(normalised(condition))).map(
    ({ suffix, condition }) => {
      const name = `"${table.table}${suffix}"`;
      return required(`constraint ${name} is missing: ${condition}`, [
        `alter table ${table} drop constraint if exists ${name}`,
        `alter table ${table} add constraint ${name} check (${condition})`,
      ]);
    },
  );
}

function sideTableDifference(table: TableName, record: SqlRecord): Difference[] {
  if (record.has_side_tables === true) return [];
  return [
    required(
      `table ${table.quoted('_locks')} or ${table.quoted('_processed')} is missing`,
      createStatements(table),
    ),
  ];
}

function harmfulIndexes(table: TableName, indexes: readonly Index[]): Difference[] {
  return indexes.filter(hasClaimColumn).map(({ name, columns }) => ({
    level: 'tuning',
    problem: `index ${name} on (${columns.join(', ')}) makes every claim write every index`,
    statements: [`drop index if exists ${qualified(table, name)}`],
  }));
}

/** In its key, included beside it, or in its predicate: each counts for PostgreSQL. */
function hasClaimColumn({ columns, included, where }: Index): boolean {
  const words = [...columns, ...(included ?? []), where ?? ''].join(' ').split(/\W+/);
  return words.some((word) => CLAIM_COLUMNS.includes(word));
}

function storageDifference(table: TableName, options: string): Difference[] {
  const set = new Map(options.split(',').map((option) => option.split('=') as [string, string]));
  const missing = Object.fromEntries(
    Object.entries(STORAGE).filter(([name, value]) => set.get(name) !== value),
  );
  if (Object.keys(missing).length === 0) return [];
  const problem = `storage settings differ: ${storage(missing)} is advised`;
  return [{ level: 'tuning', problem, statements: [`alter table ${table} set (${storage(missing)})`] }];
}

function required(problem: string, statements: readonly string[]): Difference {
  return { level: 'required', problem, statements };
}

function qualified(table: TableName, index: string): string {
  return table.schema === undefined ? `"${index}"` : `"${table.schema}"."${index}"`;
}

function unquoted(column: string): string {
  return column.replaceAll('"', '');
}

/** The catalog adds parentheses, casts and capitals. */
function normalised(condition: string | null): string {
  return (condition ?? '').toLowerCase().replaceAll(/[()"\s]/g, '');
}
