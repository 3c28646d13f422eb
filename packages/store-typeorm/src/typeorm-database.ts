import { OutboxError } from '@postcommit/core';
import { assertKnownOptions, type OptionNames } from '@postcommit/core/internal';
import {
  mysql,
  postgres,
  type SqlDatabase,
  type SqlDialect,
  type SqlExecutor,
  sqlite,
  type TableOptions,
} from '@postcommit/store-sql';
import type { DataSource, EntitySchema } from 'typeorm';
import { postgresEntities } from './outbox-entity.js';
import { MYSQL_TYPES, portableEntities, SQLITE_TYPES } from './portable-entities.js';
import { singleConnectionExecutor } from './single-connection-executor.js';
import {
  type BetterSqlite3DatabaseLike,
  betterSqlite3Connection,
  type SqljsDatabaseLike,
  sqljsConnection,
} from './sqlite-connection.js';
import { typeormExecutor } from './typeorm-executor.js';
import type { TypeormTransaction } from './typeorm-transaction.js';

export interface TypeormDatabaseOptions extends TableOptions {
  /**
   * On SQLite: how long the outbox waits for the application's transaction, or for another process that writes.
   *
   * @default 5000
   */
  readonly busyTimeoutMs?: number;
}

const OPTION_NAMES: OptionNames<TypeormDatabaseOptions> = { table: true, schema: true, busyTimeoutMs: true };

/** How the outbox works on a type of data source. */
interface DatabaseKind {
  readonly dialect: SqlDialect;
  readonly hasSchemas: boolean;
  entities(options: TableOptions): EntitySchema[];
  executor(dataSource: DataSource, options: TypeormDatabaseOptions): SqlExecutor<TypeormTransaction>;
}

const POSTGRES: DatabaseKind = {
  dialect: postgres,
  hasSchemas: true,
  entities: postgresEntities,
  executor: (dataSource) => typeormExecutor(dataSource, postgres),
};

const MYSQL: DatabaseKind = {
  dialect: mysql,
  hasSchemas: true,
  entities: (options) => portableEntities(MYSQL_TYPES, options),
  executor: (dataSource) => typeormExecutor(dataSource, mysql),
};

const SQLJS: DatabaseKind = {
  dialect: sqlite,
  hasSchemas: false,
  entities: (options) => portableEntities(SQLITE_TYPES, options),
  executor: (dataSource, { busyTimeoutMs }) =>
    singleConnectionExecutor(
      dataSource,
      (database) => sqljsConnection(database as SqljsDatabaseLike),
      busyTimeoutMs,
    ),
};

const BETTER_SQLITE3: DatabaseKind = {
  ...SQLJS,
  executor: (dataSource, { busyTimeoutMs }) =>
    singleConnectionExecutor(
      dataSource,
      (database) => betterSqlite3Connection(database as BetterSqlite3DatabaseLike),
      busyTimeoutMs,
    ),
};

/** The supported types of data sources. */
const KINDS = {
  postgres: POSTGRES,
  mysql: MYSQL,
  mariadb: MYSQL,
  sqljs: SQLJS,
  'better-sqlite3': BETTER_SQLITE3,
} satisfies Record<string, DatabaseKind>;

/** A type of data source that the outbox supports. */
export type OutboxDataSourceType = keyof typeof KINDS;

/** Returns how to run statements on a data source, and where its outbox is: for `SqlOutboxSchema`, `SqlJobLock` and the like. */
export function typeormDatabase(
  dataSource: DataSource,
  options: TypeormDatabaseOptions = {},
): SqlDatabase & { readonly executor: SqlExecutor<TypeormTransaction> } {
  assertKnownOptions('typeormDatabase', options, OPTION_NAMES);
  return databaseOf(dataSource, options);
}

/** The same with the options of a store, which has checked their names. */
export function databaseOf(
  dataSource: DataSource,
  options: TypeormDatabaseOptions,
): ReturnType<typeof typeormDatabase> {
  assertDataSource(dataSource);
  const kind = kindOf(dataSource.options.type);
  return { executor: kind.executor(dataSource, options), table: placeOf(kind, dataSource, options) };
}

/** Checks the options, not the class: the application may have another copy of TypeORM. */
export function assertDataSource(dataSource: DataSource): void {
  const { options } = (dataSource ?? {}) as Partial<DataSource>;
  if (typeof options?.type === 'string') return;
  throw new OutboxError(
    'INVALID_CONFIG',
    `the TypeORM store needs a DataSource, got ${kindOfValue(dataSource)}; pass new DataSource({ … }), or a function that creates one`,
  );
}

function kindOfValue(value: unknown): string {
  if (value === undefined || value === null) return String(value);
  if (typeof value !== 'object') return `a ${typeof value}`;
  const name = value.constructor?.name ?? 'Object';
  return name === 'Object' ? 'a plain object' : name;
}

export function kindOf(type: string): DatabaseKind {
  if (Object.hasOwn(KINDS, type)) return KINDS[type as OutboxDataSourceType];
  const types = Object.keys(KINDS).map((each) => `'${each}'`);
  throw new OutboxError(
    'INVALID_CONFIG',
    `the outbox supports data sources of type ${types.join(', ')}, got '${type}'`,
  );
}

/**
 * The entities of a data source are in its `schema`, but TypeORM does not set the search path, so statements have to name
 * the schema.
 */
function placeOf(
  { dialect, hasSchemas }: DatabaseKind,
  { options }: DataSource,
  { table, schema }: TableOptions,
): SqlDatabase['table'] {
  if (schema !== undefined && !hasSchemas) {
    throw new OutboxError(
      'INVALID_CONFIG',
      `a data source of type '${options.type}' has no schemas: remove the option schema`,
    );
  }
  const usedSchema = schema ?? ('schema' in options ? options.schema : undefined);
  return {
    dialect,
    ...(table !== undefined && { table }),
    ...(usedSchema !== undefined && { schema: usedSchema }),
  };
}
