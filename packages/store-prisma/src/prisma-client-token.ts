import { nameToken } from '@postcommit/core/internal';
import type { PrismaClientLike, PrismaTransactionOptions } from './prisma-client-like.js';

/**
 * The token of the application's Prisma client. A library can't name the type of your generated client, so annotate the
 * constructor parameter that receives it with your `PrismaClient`.
 */
export abstract class PrismaClientToken implements PrismaClientLike {
  static {
    nameToken(this, '@postcommit/store-prisma/PrismaClientToken');
  }

  // biome-ignore lint/suspicious/noExplicitAny: as PrismaClientLike says.
  abstract $queryRawUnsafe(query: string, ...values: unknown[]): any;
  abstract $transaction<Result>(
    // biome-ignore lint/suspicious/noExplicitAny: likewise.
    run: (tx: any) => Promise<Result>,
    options: PrismaTransactionOptions,
  ): Promise<Result>;
  abstract $connect(): Promise<void>;
  abstract $disconnect(): Promise<void>;
}
