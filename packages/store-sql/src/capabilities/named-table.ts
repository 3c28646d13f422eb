import { assertKnownOptions, type OptionNames } from '@postcommit/core/internal';
import type { SqlDialect, SqlTableOptions } from '../dialect.js';
import { postgres } from '../postgres/dialect.js';
import { TableName } from '../table-name.js';

const TABLE_OPTION_NAMES: OptionNames<SqlTableOptions> = { table: true, schema: true, dialect: true };

/** The table that the options of a capability name. With a typo in `table`, it would work on another one. */
export function namedTable(
  where: string,
  options: SqlTableOptions,
): { readonly dialect: SqlDialect; readonly table: TableName } {
  assertKnownOptions(where, options, TABLE_OPTION_NAMES);
  const { dialect = postgres } = options;
  return { dialect, table: new TableName(options, dialect.quote) };
}
