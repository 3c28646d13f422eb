import type { SqlRecord, SqlStatement } from '../sql-statement.js';
import type { TableName } from '../table-name.js';
import { SIDE_TABLES, type SideTable } from '../table-origin.js';

export interface Column {
  readonly name: string;
  readonly type: string;
  readonly notNull: boolean;
  readonly filled: boolean;
}

export interface Index {
  readonly name: string;
  readonly columns: readonly string[];
  readonly where: string | null;
  readonly valid: boolean;
  readonly unique: boolean;
  readonly primary: boolean;
  /** INCLUDE columns, which are not part of the key. */
  readonly included: readonly string[] | null;
}

export interface Constraint {
  readonly name: string;
  readonly type: string;
  readonly columns: readonly string[] | null;
  readonly definition: string | null;
}

export interface Sequence {
  readonly schema: string;
  readonly name: string;
  /** As text, since it may exceed the safe integers. */
  readonly cache: string;
}

export interface DescribedSide {
  readonly isTable: boolean;
  readonly columns: readonly Column[];
}

/** What the catalog says about the tables. */
export interface Catalog {
  /** `r` is a table, `p` a partitioned table; anything else is not a table. Undefined if nothing has that name. */
  readonly kind: string | undefined;
  readonly columns: readonly Column[];
  readonly indexes: readonly Index[];
  readonly constraints: readonly Constraint[];
  readonly sequences: readonly Sequence[];
  readonly storage: string;
  readonly columnComment: unknown;
  readonly tableComment: unknown;
  readonly sides: Readonly<Partial<Record<SideTable, DescribedSide>>>;
  readonly hasChildren: boolean;
  /** Undefined unless the table is partitioned; null for an expression. */
  readonly partitionColumns: readonly (string | null)[] | undefined;
  /** The current role, if row-level security hides rows from it. */
  readonly roleWithHiddenRows: string | undefined;
}

/** Names of built-in types are quoted if the session has `quote_all_identifiers` on. */
const TYPE = `
  case when (select ty.typnamespace from pg_type ty where ty.oid = a.atttypid) = 'pg_catalog'::regnamespace
    then replace(format_type(a.atttypid, a.atttypmod), '"', '')
    else format_type(a.atttypid, a.atttypmod)
  end`;

function columnsOf(table: string): string {
  return `(
    select json_agg(json_build_object(
      'name', a.attname, 'type', ${TYPE}, 'notNull', a.attnotnull, 'filled', a.attidentity <> '' or a.atthasdef
    ) order by a.attnum)
    from pg_attribute a where a.attrelid = ${table} and a.attnum > 0 and not a.attisdropped
  )`;
}

function sideTable(parameter: string): string {
  return `(
    select json_build_object('isTable', s.relkind in ('r', 'p'), 'columns', coalesce(${columnsOf('s.oid')}, '[]'))::text
    from pg_class s where s.oid = to_regclass(${parameter})
  )`;
}

const INDEXES = `(
  select json_agg(json_build_object(
    'name', c.relname, 'where', pg_get_expr(i.indpred, t.oid), 'valid', i.indisvalid, 'unique', i.indisunique,
    'primary', i.indisprimary,
    'columns', (select json_agg(pg_get_indexdef(i.indexrelid, n, true) order by n) from generate_series(1, i.indnkeyatts) n),
    'included', (
      select json_agg(a.attname) from pg_attribute a
      where a.attrelid = t.oid and a.attnum = any (i.indkey[i.indnkeyatts:])
    )
  ) order by c.relname)::text
  from pg_index i join pg_class c on c.oid = i.indexrelid where i.indrelid = t.oid
)`;

const CONSTRAINTS = `(
  select json_agg(json_build_object(
    'name', k.conname, 'type', k.contype, 'definition', pg_get_constraintdef(k.oid),
    'columns', (select json_agg(a.attname) from pg_attribute a where a.attrelid = t.oid and a.attnum = any (k.conkey))
  ) order by k.conname)::text
  from pg_constraint k where k.conrelid = t.oid
)`;

/** The sequences that `seq` owns, and those that its default uses. */
const SEQUENCES = `(
  select json_agg(json_build_object('schema', n.nspname, 'name', c.relname, 'cache', s.seqcache::text))::text
  from pg_attribute a
  cross join lateral (
    select d.objid as oid from pg_depend d
    where d.classid = 'pg_class'::regclass and d.refclassid = 'pg_class'::regclass
      and d.refobjid = t.oid and d.refobjsubid = a.attnum and d.deptype in ('a', 'i')
    union
    select d.refobjid from pg_attrdef f
    join pg_depend d on d.classid = 'pg_attrdef'::regclass and d.objid = f.oid and d.refclassid = 'pg_class'::regclass
    where f.adrelid = t.oid and f.adnum = a.attnum
  ) used
  join pg_sequence s on s.seqrelid = used.oid
  join pg_class c on c.oid = s.seqrelid
  join pg_namespace n on n.oid = c.relnamespace
  where a.attrelid = t.oid and a.attname = 'seq'
)`;

/** Policies that apply to the current role and a command. */
const POLICIES = `
  pg_policy p where p.polrelid = t.oid and p.polcmd in ('*', k.command) and exists (
    select from unnest(p.polroles) r where case when r = 0 then true else pg_has_role(r, 'usage') end
  )`;

/** Only for a role that may update rows: one that only inserts need not see them. */
const ROLE_WITH_HIDDEN_ROWS = `(
  select current_user::text
  from (values ('r'::"char", 'select'), ('w', 'update'), ('d', 'delete')) k(command, privilege)
  where row_security_active(t.oid) and has_table_privilege(t.oid, 'update') and has_table_privilege(t.oid, k.privilege)
    and (
      not exists (select from ${POLICIES} and p.polpermissive and pg_get_expr(p.polqual, t.oid) = 'true')
      or exists (select from ${POLICIES} and not p.polpermissive and pg_get_expr(p.polqual, t.oid) <> 'true')
    )
  limit 1
)`;

/** Returns one record, with lists as JSON text. */
export function describeTable(table: TableName): SqlStatement {
  return {
    text: `
      select
        t.relkind::text as kind,
        ${columnsOf('t.oid')}::text as columns,
        ${INDEXES} as indexes,
        ${CONSTRAINTS} as constraints,
        ${SEQUENCES} as sequences,
        array_to_string(t.reloptions, ',') as storage,
        (
          select col_description(t.oid, a.attnum) from pg_attribute a where a.attrelid = t.oid and a.attname = 'id'
        ) as column_comment,
        obj_description(t.oid, 'pg_class') as table_comment,
        ${SIDE_TABLES.map((suffix, index) => `${sideTable(`$${index + 2}`)} as side${suffix}`).join(`,
        `)},
        exists (select from pg_inherits h where h.inhparent = t.oid) as has_children,
        (
          select json_agg((select a.attname from pg_attribute a where a.attrelid = t.oid and a.attnum = k and k > 0))::text
          from pg_partitioned_table p, unnest(p.partattrs::int2[]) k where p.partrelid = t.oid
        ) as partition_columns,
        ${ROLE_WITH_HIDDEN_ROWS} as role_with_hidden_rows
      from (select to_regclass($1) as oid) named left join pg_class t on t.oid = named.oid`,
    values: [table.sql, ...SIDE_TABLES.map((suffix) => table.quoted(suffix))],
  };
}

export function toCatalog([record = {}]: readonly SqlRecord[]): Catalog {
  return {
    kind: parsed(record.kind, String),
    columns: list(record.columns),
    indexes: list(record.indexes),
    constraints: list(record.constraints),
    sequences: list(record.sequences),
    storage: String(record.storage ?? ''),
    columnComment: record.column_comment,
    tableComment: record.table_comment,
    sides: Object.fromEntries(
      SIDE_TABLES.map((suffix) => [suffix, parsed(record[`side${suffix}`], JSON.parse)]),
    ),
    hasChildren: record.has_children === true,
    partitionColumns: parsed(record.partition_columns, JSON.parse),
    roleWithHiddenRows: parsed(record.role_with_hidden_rows, String),
  };
}

function list<T>(text: unknown): readonly T[] {
  return parsed(text, JSON.parse) ?? [];
}

function parsed<T>(text: unknown, parse: (text: string) => T): T | undefined {
  return typeof text === 'string' ? parse(text) : undefined;
}
