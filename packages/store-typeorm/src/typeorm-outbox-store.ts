import { assertKnownOptions, nameToken, type OptionNames } from '@postcommit/core';
import { SQL_STORE_OPTION_NAMES, SqlOutboxStore, type SqlOutboxStoreOptions } from '@postcommit/store-sql';
import type { DataSource, EntityManager } from 'typeorm';
import { type TypeormDatabaseOptions, typeormDatabase } from './typeorm-database.js';
import { transactionOf } from './typeorm-transaction.js';

export interface TypeormOutboxStoreOptions
  extends Omit<SqlOutboxStoreOptions, 'dialect'>,
    TypeormDatabaseOptions {}

export const TYPEORM_STORE_OPTION_NAMES: OptionNames<TypeormOutboxStoreOptions> = {
  ...SQL_STORE_OPTION_NAMES,
  busyTimeoutMs: true,
};

/**
 * The outbox on a TypeORM data source. `enqueueWith` takes the entity manager of your transaction: the one that
 * `dataSource.transaction` hands you, or `queryRunner.manager` after `startTransaction`.
 */
export class TypeormOutboxStore extends SqlOutboxStore<EntityManager> {
  static {
    nameToken(this, '@postcommit/store-typeorm/TypeormOutboxStore');
  }

  constructor(dataSource: DataSource, options: TypeormOutboxStoreOptions = {}) {
    assertKnownOptions('TypeormOutboxStore', options, TYPEORM_STORE_OPTION_NAMES);
    const { executor, table } = typeormDatabase(dataSource, options);
    super(executor, { ...options, ...table });
  }

  protected assertTransaction(manager: EntityManager): void {
    transactionOf(manager);
  }
}
