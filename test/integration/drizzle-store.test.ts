import { describeOutboxStore, type TestTransaction } from '@postcommit/store-testkit';
import { drizzle, type NodePgDatabase } from 'drizzle-orm/node-postgres';
import { expect, it } from 'vitest';
import {
  DrizzleOutboxStore,
  type DrizzleTransaction,
} from '../../examples/orders-drizzle/src/drizzle-outbox-store.js';
import { usePostgres } from '../../packages/store-sql/test/postgres-fixture.js';
import { storeHarness } from '../../packages/store-sql/test/sql-fixture.js';

const fixture = usePostgres();

// The store that an example writes by hand: what the testkit holds every store to holds for one of your own.
describeOutboxStore(
  'DrizzleOutboxStore',
  storeHarness(fixture, {
    createStore: ({ pool }, options) => new DrizzleOutboxStore(drizzle(pool), options),
    begin: ({ pool }) => openTransaction(drizzle(pool)),
  }),
);

it('rejects the database itself as a transaction', async () => {
  const db = drizzle(fixture.pool);
  const given = db as unknown as DrizzleTransaction;
  await expect(
    new DrizzleOutboxStore(db).enqueueWith(given, { topic: 't', payload: {} }),
  ).rejects.toMatchObject({ code: 'INVALID_TRANSACTION' });
});

class RolledBack extends Error {}

/** Drizzle's transaction ends with its callback, so this callback waits for `commit` or `rollback`. */
function openTransaction(db: NodePgDatabase): Promise<TestTransaction<DrizzleTransaction>> {
  return new Promise((resolve, reject) => {
    const ended: Promise<void> = db.transaction(
      (tx) =>
        new Promise<void>((commit, rollback) => {
          resolve({
            handle: tx,
            savepoint: async () => {
              await tx.execute('savepoint here');
              return async () => {
                await tx.execute('rollback to savepoint here');
              };
            },
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
    );
    ended.catch(reject);
  });
}
