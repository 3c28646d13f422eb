import { assertKnownOptions, nameToken, notATransaction } from '@postcommit/core';
import { SQL_STORE_OPTION_NAMES, SqlOutboxStore, type SqlOutboxStoreOptions } from '@postcommit/store-sql';
import { asClient } from './as-client.js';
import type { PrismaClientLike, PrismaTransactionLike } from './prisma-client-like.js';
import { prismaExecutor } from './prisma-executor.js';

export type PrismaOutboxStoreOptions = Omit<SqlOutboxStoreOptions, 'dialect'>;

/** The outbox on a Prisma client. `enqueueWith` takes the handle that `$transaction` gives to your callback. */
export class PrismaOutboxStore extends SqlOutboxStore<PrismaTransactionLike> {
  static {
    nameToken(this, '@postcommit/store-prisma/PrismaOutboxStore');
  }

  constructor(client: PrismaClientLike, options: PrismaOutboxStoreOptions = {}) {
    assertKnownOptions('PrismaOutboxStore', options, SQL_STORE_OPTION_NAMES);
    super(prismaExecutor(asClient(client)), options);
  }

  protected assertTransaction(tx: PrismaTransactionLike): void {
    // A transaction may have $transaction too, for nesting; only the client can connect.
    if (tx.$connect !== undefined) throw notATransaction('enqueueWith was given the Prisma client itself');
    if (typeof tx.$queryRawUnsafe !== 'function')
      throw notATransaction('enqueueWith was given something that is not a Prisma transaction');
  }
}
