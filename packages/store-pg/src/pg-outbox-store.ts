import { assertKnownOptions, nameToken, notATransaction } from '@postcommit/core';
import { SQL_STORE_OPTION_NAMES, SqlOutboxStore, type SqlOutboxStoreOptions } from '@postcommit/sql';
import type { PgClientLike, PgPoolLike } from './pg-client-like.js';
import { pgExecutor } from './pg-executor.js';

export type PgOutboxStoreOptions = Omit<SqlOutboxStoreOptions, 'dialect'>;

/** The outbox on a `pg` pool. `enqueueWith` takes the client that your transaction runs on. */
export class PgOutboxStore extends SqlOutboxStore<PgClientLike> {
  static {
    nameToken(this, '@postcommit/store-pg/PgOutboxStore');
  }

  constructor(pool: PgPoolLike, options: PgOutboxStoreOptions = {}) {
    assertKnownOptions('PgOutboxStore', options, SQL_STORE_OPTION_NAMES);
    super(pgExecutor(pool), options);
  }

  protected assertTransaction(client: PgClientLike): void {
    if ('totalCount' in client) throw notATransaction('enqueueWith was given a pg Pool');
    const status = client.getTransactionStatus?.();
    if (status === 'I')
      throw notATransaction('enqueueWith was given a pg client that is not in a transaction');
  }
}
