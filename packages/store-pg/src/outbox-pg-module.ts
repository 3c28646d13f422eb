import {
  assertKnownOptions,
  contributeFactory,
  EnqueuePipeline,
  Lifecycles,
  type OptionNames,
  OutboxStore,
  provideFactory,
  type StoreModule,
} from '@postcommit/core';
import {
  ClaimSessions,
  type ListenClientLike,
  SQL_STORE_OPTION_NAMES,
  sqlCapabilities,
  wakeupLifecycle,
} from '@postcommit/store-sql';
import type { PgClientLike, PgPoolLike } from './pg-client-like.js';
import { pgExecutor } from './pg-executor.js';
import { PgOutboxStore, type PgOutboxStoreOptions } from './pg-outbox-store.js';

export interface OutboxPgModuleOptions extends Omit<PgOutboxStoreOptions, 'pipeline' | 'claimSessions'> {
  /** Yours: it is neither opened nor closed here. Its `error` events are listened to and reported as `storeProblem`. */
  readonly pool: PgPoolLike;
  /**
   * Makes the connection on which a worker listens, each time one is needed; it is closed here. Default: a client like
   * those of the pool. Needed where the pool goes through a transaction pooler: then connect to the server itself.
   */
  readonly listenClient?: () => ListenClientLike;
}

const { pipeline: _, claimSessions: __, ...STORE_NAMES } = SQL_STORE_OPTION_NAMES;
const OPTION_NAMES: OptionNames<OutboxPgModuleOptions> = { pool: true, listenClient: true, ...STORE_NAMES };

/** Binds `PgOutboxStore` as the store, with its schema, job locks and processed messages, and the wake-up of workers. */
export const OutboxPgModule = {
  [Symbol.toStringTag]: 'OutboxPgModule',

  /** @throws `INVALID_CONFIG` for what is not a pool, and for a pool whose `connectionString` is not PostgreSQL's. */
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
          { ...options, listenClient: listenClient ?? clientLikeThoseOf(pool) },
        ),
      ],
      contributes: [contributeFactory(Lifecycles, [PgOutboxStore], wakeupLifecycle)],
    };
  },
};

/** Options of a store on a pool that is given beside them. */
export type PgStoreOptions = Omit<OutboxPgModuleOptions, 'pool'>;

/**
 * The store of `createOutbox` on a `pg` pool. `enqueueWith` takes the client that ran BEGIN.
 *
 * @example
 * const outbox = createOutbox({ store: pgStore(pool), publisher });
 */
export function pgStore(pool: PgPoolLike, options: PgStoreOptions = {}): StoreModule<PgClientLike> {
  return OutboxPgModule.forRoot({ ...options, pool });
}

/** Undefined for a pool that does not say how it makes its clients. */
function clientLikeThoseOf({ Client, options }: PgPoolLike): (() => ListenClientLike) | undefined {
  // The options as they are: the pool hides the password in them from copying.
  return Client && options && (() => new Client(options));
}
