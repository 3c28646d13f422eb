import { assertKnownOptions, type OptionNames } from '@postcommit/core/internal';
import type { TableOptions } from '@postcommit/store-sql';
import type { EntitySchema } from 'typeorm';
import { kindOf, type OutboxDataSourceType } from './typeorm-database.js';

export interface OutboxEntitiesOptions extends TableOptions {
  /** The type of the data source that uses them. @default 'postgres' */
  readonly type?: OutboxDataSourceType;
}

const OPTION_NAMES: OptionNames<OutboxEntitiesOptions> = { type: true, table: true, schema: true };

/**
 * Returns the entities of all tables, for the `entities` of a data source. On PostgreSQL, `synchronize` creates the
 * tables. On other databases `OutboxSchema` does, and the entities are only for your queries.
 */
export function outboxEntitiesFor(given: OutboxEntitiesOptions = {}): EntitySchema[] {
  assertKnownOptions('outboxEntitiesFor', given, OPTION_NAMES);
  const { type = 'postgres', ...options } = given;
  return kindOf(type).entities(options);
}
