import type { TableOptions } from '@postcommit/store-sql';
import type { EntitySchema } from 'typeorm';
import { kindOf, type OutboxDataSourceType } from './typeorm-database.js';

export interface OutboxEntitiesOptions extends TableOptions {
  /** The type of the data source they are for. Default `postgres`. */
  readonly type?: OutboxDataSourceType;
}

/**
 * All three tables, for `entities` of a data source. On PostgreSQL `synchronize` makes them; elsewhere they are for
 * queries of your own, and `OutboxSchema` makes the tables.
 */
export function outboxEntitiesFor({
  type = 'postgres',
  ...options
}: OutboxEntitiesOptions = {}): EntitySchema[] {
  return kindOf(type).entities(options);
}
