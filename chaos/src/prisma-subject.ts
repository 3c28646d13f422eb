import type { TransactionalOutboxStore } from '@postcommit/core';
import { OutboxPrismaModule, PrismaOutboxStore } from '@postcommit/store-prisma';
import { PrismaPg } from '@prisma/adapter-pg';
import pg from '../../internal/test-database/src/pg.js';
import { PrismaClient } from '../../packages/store-prisma/test/gen/client.js';
import type { Subject, SubjectOptions } from './subject.js';

export function prismaSubject({ url, claimTimeoutMs, poolSize = 10 }: SubjectOptions): Subject {
  const client = new PrismaClient({ adapter: new PrismaPg({ connectionString: url, max: poolSize }) });
  return {
    module: OutboxPrismaModule.forRoot({
      client,
      listenClient: () => new pg.Client({ connectionString: url }),
      ...(claimTimeoutMs !== undefined && { claimTimeoutMs }),
    }),
    storeToken: PrismaOutboxStore as unknown as Subject['storeToken'],
    transaction: (store: TransactionalOutboxStore<never>, work) =>
      client.$transaction((tx) =>
        work({
          query: (text, values) => tx.$executeRawUnsafe(text, ...values),
          enqueue: (entries) => store.enqueueWith(tx as never, entries),
        }),
      ),
    query: (text, values = []) => client.$queryRawUnsafe(text, ...values),
    close: () => client.$disconnect(),
  };
}
