import { assertKnownOptions, nameToken, notATransaction } from '@postcommit/core';
import { SQL_STORE_OPTION_NAMES, SqlOutboxStore, type SqlOutboxStoreOptions } from '@postcommit/store-sql';
import type { PgClientLike, PgPoolLike } from './pg-client-like.js';
import { pgExecutor } from './pg-executor.js';
import { reportErrors } from './pool-errors.js';

export type PgOutboxStoreOptions = Omit<SqlOutboxStoreOptions, 'dialect'>;

/**
 * Stores the outbox in PostgreSQL, through a `pg` pool. `enqueueWith` takes the client that ran BEGIN. The store never
 * closes the pool; it reports the pool's `error` events (lost idle connections) to the listeners of `onProblem`.
 */
export class PgOutboxStore extends SqlOutboxStore<PgClientLike> {
  static {
    nameToken(this, '@postcommit/store-pg/PgOutboxStore');
  }

  // A field keeps it alive: the pool holds it by a weak reference.
  readonly #report = (error: Error): void => this.reportProblem(error);

  /** @throws `INVALID_CONFIG` if `pool` is not a pool, or its `connectionString` is not for PostgreSQL. */
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
