import { assertKnownOptions, nameToken, notATransaction } from '@postcommit/core';
import { SQL_STORE_OPTION_NAMES, SqlOutboxStore, type SqlOutboxStoreOptions } from '@postcommit/store-sql';
import type { PgClientLike, PgPoolLike } from './pg-client-like.js';
import { pgExecutor } from './pg-executor.js';
import { reportErrors } from './pool-errors.js';

export type PgOutboxStoreOptions = Omit<SqlOutboxStoreOptions, 'dialect'>;

/**
 * The outbox on a `pg` pool. `enqueueWith` takes the client that your transaction runs on. The pool stays yours; its
 * `error` events, idle connections that were cut, are reported by `onProblem`.
 */
export class PgOutboxStore extends SqlOutboxStore<PgClientLike> {
  static {
    nameToken(this, '@postcommit/store-pg/PgOutboxStore');
  }

  // A field: the pool refers to it weakly.
  readonly #report = (error: Error): void => this.reportProblem(error);

  /** @throws `INVALID_CONFIG` for what is not a pool, and for a pool whose `connectionString` is not PostgreSQL's. */
  constructor(pool: PgPoolLike, options: PgOutboxStoreOptions = {}) {
    assertKnownOptions('PgOutboxStore', options, SQL_STORE_OPTION_NAMES);
    super(pgExecutor(pool), options);
    reportErrors(pool, this.#report);
  }

  protected assertTransaction(client: PgClientLike): void {
    if ('totalCount' in client) throw notATransaction('enqueueWith was given a pg Pool');
    const status = client.getTransactionStatus?.();
    if (status === 'I')
      throw notATransaction('enqueueWith was given a pg client that is not in a transaction');
  }
}
