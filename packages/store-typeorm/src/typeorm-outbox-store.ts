import { assertKnownOptions, nameToken, type OptionNames } from '@postcommit/core/internal';
import { SQL_STORE_OPTION_NAMES, SqlOutboxStore, type SqlOutboxStoreOptions } from '@postcommit/store-sql';
import type { DataSource } from 'typeorm';
import { databaseOf, type TypeormDatabaseOptions } from './typeorm-database.js';
import { type TypeormTransaction, transactionOf } from './typeorm-transaction.js';

export interface TypeormOutboxStoreOptions
  extends Omit<SqlOutboxStoreOptions, 'dialect'>,
    TypeormDatabaseOptions {}

export const TYPEORM_STORE_OPTION_NAMES: OptionNames<TypeormOutboxStoreOptions> = {
  ...SQL_STORE_OPTION_NAMES,
  busyTimeoutMs: true,
};

/**
 * Stores the outbox through a TypeORM data source. `enqueueWith` takes the entity manager of your transaction: the one
 * that `dataSource.transaction` passes to its callback, or `queryRunner.manager` after `startTransaction`.
 */
export class TypeormOutboxStore extends SqlOutboxStore<TypeormTransaction> {
  static {
    nameToken(this, '@postcommit/store-typeorm/TypeormOutboxStore');
  }

  constructor(dataSource: DataSource, options: TypeormOutboxStoreOptions = {}) {
    assertKnownOptions('TypeormOutboxStore', options, TYPEORM_STORE_OPTION_NAMES);
    const { executor, table } = databaseOf(dataSource, options);
    const { busyTimeoutMs: _, ...shared } = options;
    super(executor, { ...shared, ...table });
  }

  protected assertTransaction(manager: TypeormTransaction): void {
    transactionOf(manager);
  }
}
