import {
  assertKnownOptions,
  contributeFactory,
  EnqueuePipeline,
  type Lifecycle,
  Lifecycles,
  type OptionNames,
  OutboxError,
  OutboxStore,
  provideFactory,
  type StoreModule,
} from '@postcommit/core';
import {
  ClaimSessions,
  type ListenClientLike,
  sqlCapabilities,
  type TableOptions,
  wakeupLifecycle,
} from '@postcommit/store-sql';
import { DataSource, type EntityManager, type EntitySchema } from 'typeorm';
import { outboxEntitiesFor } from './outbox-entities.js';
import { assertDataSource, type OutboxDataSourceType, typeormDatabase } from './typeorm-database.js';
import {
  TYPEORM_STORE_OPTION_NAMES,
  TypeormOutboxStore,
  type TypeormOutboxStoreOptions,
} from './typeorm-outbox-store.js';

export interface OutboxTypeormModuleOptions
  extends Omit<TypeormOutboxStoreOptions, 'pipeline' | 'claimSessions'> {
  /**
   * Yours, or a function that is handed the outbox's entities and makes it. When it is not initialised yet,
   * `app.start()` does that, and `app.stop()` then destroys it.
   */
  readonly dataSource: DataSource | ((entities: EntitySchema[]) => DataSource);
  /** Of the data source that a function makes: its entities are made before it. Default `postgres`. */
  readonly type?: OutboxDataSourceType;
  /**
   * Makes the connection on which a worker listens, each time one is needed: `() => new pg.Client({ connectionString })`,
   * to the server itself, not through a transaction pooler. It is closed here. Without it a worker polls.
   */
  readonly listenClient?: () => ListenClientLike;
}

const { pipeline: _, claimSessions: __, ...STORE_NAMES } = TYPEORM_STORE_OPTION_NAMES;
const OPTION_NAMES: OptionNames<OutboxTypeormModuleOptions> = {
  dataSource: true,
  type: true,
  listenClient: true,
  ...STORE_NAMES,
};

/**
 * Binds `TypeormOutboxStore` as the store, with its schema, job locks and processed messages, and the `DataSource`;
 * with `listenClient` also the wake-up of workers.
 *
 * @example
 * OutboxTypeormModule.forRoot({
 *   dataSource: (entities) => new DataSource({ type: 'postgres', url, entities: [Order, ...entities] }),
 * });
 */
export const OutboxTypeormModule = {
  [Symbol.toStringTag]: 'OutboxTypeormModule',

  /** @throws `INVALID_CONFIG` for what is neither a data source nor a function. */
  forRoot(given: OutboxTypeormModuleOptions): StoreModule<EntityManager> {
    assertKnownOptions('OutboxTypeormModule', given ?? {}, OPTION_NAMES);
    const { dataSource, type, listenClient, ...options } = given ?? {};
    if (typeof dataSource !== 'function') assertDataSource(dataSource);
    return {
      name: 'OutboxTypeormModule',
      store: TypeormOutboxStore,
      provides: [
        provideFactory(DataSource, [], () =>
          typeof dataSource === 'function' ? withEntities(dataSource, type, options) : dataSource,
        ),
        provideFactory(
          TypeormOutboxStore,
          [DataSource, EnqueuePipeline, ClaimSessions],
          (source, pipeline, claimSessions) =>
            new TypeormOutboxStore(source, { ...options, pipeline, claimSessions }),
        ),
        { provide: OutboxStore, useExisting: TypeormOutboxStore },
        ...sqlCapabilities(
          (token, make) =>
            provideFactory(token, [DataSource, ClaimSessions], (source, claimSessions) =>
              make({ ...typeormDatabase(source, options), claimSessions }),
            ),
          { ...options, listenClient },
        ),
      ],
      // Stopped in reverse: the last wake-up is sent before the data source closes.
      contributes: [
        contributeFactory(Lifecycles, [DataSource], dataSourceLifecycle),
        contributeFactory(Lifecycles, [TypeormOutboxStore], wakeupLifecycle),
      ],
    };
  },
};

/** Options of a store on a data source that is given beside them. */
export type TypeormStoreOptions = Omit<OutboxTypeormModuleOptions, 'dataSource'>;

/**
 * The store of `createOutbox` on a TypeORM data source. `enqueueWith` takes the entity manager of your transaction.
 *
 * @example
 * const outbox = createOutbox({ store: typeormStore(dataSource), publisher });
 */
export function typeormStore(
  dataSource: OutboxTypeormModuleOptions['dataSource'],
  options: TypeormStoreOptions = {},
): StoreModule<EntityManager> {
  return OutboxTypeormModule.forRoot({ ...options, dataSource });
}

/** Entities of another database fail late, and not by a name that tells why. */
function withEntities(
  make: (entities: EntitySchema[]) => DataSource,
  type: OutboxDataSourceType = 'postgres',
  place: TableOptions,
): DataSource {
  const dataSource = make(outboxEntitiesFor({ ...place, type }));
  const made = dataSource.options.type;
  if (made === type) return dataSource;
  throw new OutboxError(
    'INVALID_CONFIG',
    `the function made a data source of type '${made}', but was handed entities for '${type}': give OutboxTypeormModule.forRoot the option type: '${made}'`,
  );
}

/** Closes only what it opened. */
function dataSourceLifecycle(dataSource: DataSource): Lifecycle {
  let opened = false;
  return {
    name: 'TypeORM data source',
    phase: 'resource',
    start: async () => {
      if (dataSource.isInitialized) return;
      await dataSource.initialize();
      opened = true;
    },
    stop: async () => {
      if (!opened) return;
      opened = false;
      if (dataSource.isInitialized) await dataSource.destroy();
    },
  };
}
