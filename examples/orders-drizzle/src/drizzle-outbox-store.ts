import {
  contributeFactory,
  EnqueuePipeline,
  Lifecycles,
  notATransaction,
  OutboxStore,
  provideFactory,
  type StoreModule,
} from '@postcommit/core';
import {
  runWork,
  type SqlExecutor,
  SqlOutboxStore,
  type SqlOutboxStoreOptions,
  type SqlStatement,
  sqlCapabilities,
  wakeupLifecycle,
} from '@postcommit/store-sql';
import { is, type SQL, sql } from 'drizzle-orm';
import type { NodePgDatabase } from 'drizzle-orm/node-postgres';
import { PgTransaction } from 'drizzle-orm/pg-core';

export type DrizzleTransaction = Parameters<Parameters<NodePgDatabase['transaction']>[0]>[0];

/** The outbox on a Drizzle database. `enqueueWith` takes the handle that `transaction` gives to your callback. */
export class DrizzleOutboxStore extends SqlOutboxStore<DrizzleTransaction> {
  constructor(db: NodePgDatabase, options: SqlOutboxStoreOptions = {}) {
    super(drizzleExecutor(db), options);
  }

  protected assertTransaction(tx: DrizzleTransaction): void {
    if (!is(tx, PgTransaction)) throw notATransaction('enqueueWith was given the Drizzle database itself');
    // Drizzle runs statements on a transaction that has ended, each on its own; only the client below it knows.
    const { session } = tx as unknown as { session?: { client?: { getTransactionStatus?(): string } } };
    if (session?.client?.getTransactionStatus?.() === 'I')
      throw notATransaction('enqueueWith was given a Drizzle transaction that has ended');
  }
}

export function drizzleExecutor(db: NodePgDatabase): SqlExecutor<DrizzleTransaction> {
  return async (work, tx) => {
    const runOn = (session: Pick<NodePgDatabase, 'execute'>) =>
      runWork(work, async (statement) => (await session.execute(toSql(statement))).rows);
    if (tx) return runOn(tx);
    return typeof work === 'function'
      ? db.transaction(runOn, { isolationLevel: 'read committed' })
      : runOn(db);
  };
}

/** Drizzle numbers parameters itself: $1 and its like become what they stand for. */
function toSql({ text, values }: SqlStatement): SQL {
  const parts = text.split(/\$(\d+)/);
  return sql.join(
    parts.map((part, place) => (place % 2 === 0 ? sql.raw(part) : sql.param(values[Number(part) - 1]))),
  );
}

/** The module that `createOutbox` and `composeModules` take. */
export function drizzleStore(db: NodePgDatabase): StoreModule<DrizzleTransaction> {
  const database = { executor: drizzleExecutor(db), table: {} };
  return {
    name: 'DrizzleOutboxStoreModule',
    store: DrizzleOutboxStore,
    provides: [
      provideFactory(
        DrizzleOutboxStore,
        [EnqueuePipeline],
        (pipeline) => new DrizzleOutboxStore(db, { pipeline }),
      ),
      { provide: OutboxStore, useExisting: DrizzleOutboxStore },
      // The tables, job locks and processed messages.
      ...sqlCapabilities((token, make) => provideFactory(token, [], () => make(database))),
    ],
    contributes: [contributeFactory(Lifecycles, [DrizzleOutboxStore], wakeupLifecycle)],
  };
}
