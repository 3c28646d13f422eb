import { nameToken, OutboxError } from '@postcommit/core';
import { SqlOutboxStore, type SqlOutboxStoreOptions, type TableOptions } from '@postcommit/sql';
import type { DataSource, EntityManager } from 'typeorm';
import { typeormExecutor } from './typeorm-executor.js';
import { transactionOf } from './typeorm-transaction.js';

export type TypeormOutboxStoreOptions = Omit<SqlOutboxStoreOptions, 'dialect'>;

/**
 * The outbox on a TypeORM data source. `enqueueWith` takes the entity manager of your transaction: the one that
 * `dataSource.transaction` hands you, or `queryRunner.manager` after `startTransaction`.
 */
export class TypeormOutboxStore extends SqlOutboxStore<EntityManager> {
  static {
    nameToken(this, '@postcommit/store-typeorm/TypeormOutboxStore');
  }

  constructor(dataSource: DataSource, options: TypeormOutboxStoreOptions = {}) {
    super(typeormExecutor(dataSource), { ...options, ...tableOf(dataSource, options) });
  }

  protected assertTransaction(manager: EntityManager): void {
    transactionOf(manager);
  }
}

/**
 * Where the tables are. The entities of a data source live in its `schema`, but TypeORM leaves the search path
 * alone, so our statements have to name it.
 */
export function tableOf({ options }: DataSource, { table, schema }: TableOptions): TableOptions {
  if (options.type !== 'postgres') {
    throw new OutboxError(
      'INVALID_CONFIG',
      `the outbox needs a data source of type 'postgres', got '${options.type}'`,
    );
  }
  const usedSchema = schema ?? options.schema;
  return { ...(table !== undefined && { table }), ...(usedSchema !== undefined && { schema: usedSchema }) };
}
