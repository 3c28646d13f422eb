import type { SqlStatement } from '../sql-statement.js';
import type { TableName } from '../table-name.js';
import { SIDE_TABLES } from '../table-origin.js';
import { list } from './columns.js';

/** Aliased, since servers differ in the case of the catalog's column names. */
export function describeTables(table: TableName): SqlStatement {
  return {
    text: `
      select table_name as name, table_type as kind, engine as engine, table_comment as comment
      from information_schema.tables
      where table_schema = coalesce(?, database()) and table_name in (${list(allTables(table))})`,
    values: [table.schema ?? null, ...allTables(table)],
  };
}

export function describeColumns(table: TableName): SqlStatement {
  return {
    text: `
      select table_name as table_of, column_name as name, column_type as type, is_nullable as nullable,
        collation_name as collation, column_default as value, extra as extra, generation_expression as expression,
        version() like '%MariaDB%' as on_mariadb
      from information_schema.columns
      where table_schema = coalesce(?, database()) and table_name in (${list(allTables(table))})`,
    values: [table.schema ?? null, ...allTables(table)],
  };
}

function allTables({ table }: TableName): string[] {
  return ['', ...SIDE_TABLES].map((suffix) => `${table}${suffix}`);
}

export function describeIndexes(table: TableName): SqlStatement {
  return {
    text: `
      select index_name as name, min(non_unique) as non_unique,
        group_concat(column_name order by seq_in_index) as columns
      from information_schema.statistics
      where table_schema = coalesce(?, database()) and table_name = ?
      group by index_name`,
    values: [table.schema ?? null, table.table],
  };
}

/** Foreign keys in both directions. */
export function describeConstraints(table: TableName): SqlStatement {
  const place = [table.schema ?? null, table.table];
  return {
    text: `
      select constraint_name as name
      from information_schema.table_constraints
      where table_schema = coalesce(?, database()) and table_name = ? and constraint_type in ('CHECK', 'FOREIGN KEY')
      union
      select constraint_name as name
      from information_schema.key_column_usage
      where referenced_table_schema = coalesce(?, database()) and referenced_table_name = ?`,
    values: [...place, ...place],
  };
}
