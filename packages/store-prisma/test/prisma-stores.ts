import { PrismaOutboxStore, type PrismaTransactionLike } from '@postcommit/store-prisma';
import { PrismaPg } from '@prisma/adapter-pg';
import { afterAll, beforeAll } from 'vitest';
import type { PostgresFixture, PostgresStores } from '../../store-sql/test/postgres-fixture.js';
import { prismaExecutor } from '../src/prisma-executor.js';
import { type Prisma, PrismaClient } from './gen/client.js';

const PATIENCE = { maxWait: 60_000, timeout: 600_000 };

export interface OpenTransaction {
  readonly tx: Prisma.TransactionClient;
  commit(): Promise<void>;
  rollback(): Promise<void>;
}

/** A generated client on the database of the fixture; use it inside tests only. */
export function usePrisma(fixture: PostgresFixture): { readonly client: PrismaClient } {
  let client: PrismaClient | undefined;
  beforeAll(() => {
    client = new PrismaClient({ adapter: new PrismaPg({ connectionString: fixture.url, max: 20 }) });
  });
  afterAll(async () => {
    await client?.$disconnect();
  });
  return {
    get client() {
      if (!client) throw new Error('the client is there only while tests run');
      return client;
    },
  };
}

export function prismaStores(prisma: {
  readonly client: PrismaClient;
}): PostgresStores<PrismaTransactionLike> {
  return {
    createStore: (_fixture, options) => new PrismaOutboxStore(prisma.client, options),
    executor: () => prismaExecutor(prisma.client),
    begin: async () => {
      const { tx, commit, rollback } = await openTransaction(prisma.client);
      return {
        handle: tx,
        savepoint: async () => {
          await tx.$executeRawUnsafe('savepoint here');
          return async () => {
            await tx.$executeRawUnsafe('rollback to savepoint here');
          };
        },
        commit,
        rollback,
      };
    },
  };
}

class RolledBack extends Error {}

/** Prisma's transaction ends with its callback, so this callback waits for `commit` or `rollback`. */
export function openTransaction(client: PrismaClient): Promise<OpenTransaction> {
  return new Promise((resolve, reject) => {
    const ended: Promise<void> = client.$transaction(
      (tx) =>
        new Promise<void>((commit, rollback) => {
          resolve({
            tx,
            commit: () => {
              commit();
              return ended;
            },
            rollback: () => {
              rollback(new RolledBack());
              return ended.catch((error) => {
                if (!(error instanceof RolledBack)) throw error;
              });
            },
          });
        }),
      PATIENCE,
    );
    ended.catch(reject);
  });
}
