import { notATransaction } from '@postcommit/core';
import { assertKnownOptions, nameToken } from '@postcommit/core/internal';
import { SQL_STORE_OPTION_NAMES, SqlOutboxStore, type SqlOutboxStoreOptions } from '@postcommit/store-sql';
import { asClient } from './as-client.js';
import type { PrismaClientLike, PrismaTransactionLike } from './prisma-client-like.js';
import { prismaExecutor } from './prisma-executor.js';

export type PrismaOutboxStoreOptions = Omit<SqlOutboxStoreOptions, 'dialect'>;

/** Stores the outbox through a Prisma client. `enqueueWith` takes the client that `$transaction` passes to your callback. */
export class PrismaOutboxStore extends SqlOutboxStore<PrismaTransactionLike> {
  static {
    nameToken(this, '@postcommit/store-prisma/PrismaOutboxStore');
  }

  constructor(client: PrismaClientLike, options: PrismaOutboxStoreOptions = {}) {
    assertKnownOptions('PrismaOutboxStore', options, SQL_STORE_OPTION_NAMES);
    super(prismaExecutor(asClient(client)), options);
  }

  protected assertTransaction(tx: PrismaTransactionLike): void {
    // The client of a transaction may have $transaction too, for nesting, but never $connect.
    if (tx.$connect !== undefined) throw notATransaction('enqueueWith was given the Prisma client itself');
    if (typeof tx.$queryRawUnsafe !== 'function')
      throw notATransaction('enqueueWith was given something that is not a Prisma transaction');
  }
}
