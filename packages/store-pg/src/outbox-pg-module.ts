import {
  contributeFactory,
  EnqueuePipeline,
  Lifecycles,
  OutboxStore,
  provideFactory,
  type StoreModule,
} from '@postcommit/core';
import { assertKnownOptions, type OptionNames } from '@postcommit/core/internal';
import {
  ClaimSessions,
  type ListenClientLike,
  SQL_STORE_OPTION_NAMES,
  sqlCapabilities,
  wakeupLifecycle,
} from '@postcommit/store-sql';
import type { PgClientLike, PgPoolLike } from './pg-client-like.js';
import { PgOutboxStore, type PgOutboxStoreOptions, pgExecutor } from './pg-outbox-store.js';

export interface OutboxPgModuleOptions extends Omit<PgOutboxStoreOptions, 'pipeline' | 'claimSessions'> {
  /** Your pool. The outbox never closes it. Its `error` events are reported as the event `storeProblem`. */
  readonly pool: PgPoolLike;
  /**
   * Creates the listener connection of a worker, and each replacement for it. The outbox connects and closes it. Set it
   * if the pool connects through a transaction pooler such as PgBouncer, and connect to the server directly.
   *
   * @default a client with the options of the pool
   */
  readonly listenClient?: () => ListenClientLike;
}

const { pipeline: _, claimSessions: __, ...STORE_NAMES } = SQL_STORE_OPTION_NAMES;
const OPTION_NAMES: OptionNames<OutboxPgModuleOptions> = { pool: true, listenClient: true, ...STORE_NAMES };

/** Binds `PgOutboxStore` as the store, with its schema, job locks, processed messages and worker wake-up. */
export const OutboxPgModule = {
  [Symbol.toStringTag]: 'OutboxPgModule',

  /** @throws `INVALID_CONFIG` if `pool` is not a pool, or its `connectionString` is not for PostgreSQL. */
  forRoot(given: OutboxPgModuleOptions): StoreModule<PgClientLike> {
    assertKnownOptions('OutboxPgModule', given ?? {}, OPTION_NAMES);
    const { pool, listenClient, ...options } = given ?? {};
    const executor = pgExecutor(pool);
    return {
      name: 'OutboxPgModule',
      store: PgOutboxStore,
      provides: [
        provideFactory(
          PgOutboxStore,
          [EnqueuePipeline, ClaimSessions],
          (pipeline, claimSessions) => new PgOutboxStore(pool, { ...options, pipeline, claimSessions }),
        ),
        { provide: OutboxStore, useExisting: PgOutboxStore },
        ...sqlCapabilities(
          (token, make) =>
            provideFactory(token, [ClaimSessions], (claimSessions) =>
              make({ executor, table: options, claimSessions }),
            ),
          { ...options, listenClient: listenClient ?? listenClientOf(pool) },
        ),
      ],
      contributes: [contributeFactory(Lifecycles, [PgOutboxStore], wakeupLifecycle)],
    };
  },
};

/** Options of `pgStore`. */
export type PgStoreOptions = Omit<OutboxPgModuleOptions, 'pool'>;

/**
 * Stores the outbox in PostgreSQL, through a `pg` pool. `enqueueWith` takes the client that ran BEGIN.
 *
 * @throws `INVALID_CONFIG` if `pool` is not a pool, or its `connectionString` is not for PostgreSQL.
 *
 * @example
 * const outbox = createOutbox({ store: pgStore(pool), publisher });
 */
export function pgStore(pool: PgPoolLike, options: PgStoreOptions = {}): StoreModule<PgClientLike> {
  return OutboxPgModule.forRoot({ ...options, pool });
}

/** Undefined for a pool that does not expose how it creates its clients. */
function listenClientOf({ Client, options }: PgPoolLike): (() => ListenClientLike) | undefined {
  // Not a copy of the options: their password is not enumerable.
  return Client && options && (() => new Client(options));
}
