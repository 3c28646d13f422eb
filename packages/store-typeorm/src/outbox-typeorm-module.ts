import {
  contributeFactory,
  EnqueuePipeline,
  type Lifecycle,
  Lifecycles,
  OutboxError,
  OutboxStore,
  provideFactory,
  type StoreModule,
} from '@postcommit/core';
import { assertKnownOptions, type OptionNames } from '@postcommit/core/internal';
import {
  ClaimSessions,
  type ListenClientLike,
  type SqlDatabase,
  sqlCapabilities,
  type TableOptions,
  wakeupLifecycle,
} from '@postcommit/store-sql';
import { DataSource, type EntitySchema } from 'typeorm';
import { listenClientOf } from './listen-client.js';
import { assertDataSource, databaseOf, kindOf, type OutboxDataSourceType } from './typeorm-database.js';
import {
  TYPEORM_STORE_OPTION_NAMES,
  TypeormOutboxStore,
  type TypeormOutboxStoreOptions,
} from './typeorm-outbox-store.js';
import type { TypeormTransaction } from './typeorm-transaction.js';

export interface OutboxTypeormModuleOptions
  extends Omit<TypeormOutboxStoreOptions, 'pipeline' | 'claimSessions'> {
  /**
   * Your data source, or a function that receives the outbox's entities and returns it. If it is not initialized,
   * `app.start()` initializes it, and `app.stop()` then destroys it.
   */
  readonly dataSource: DataSource | ((entities: EntitySchema[]) => DataSource);
  /** The type of the data source that the function creates. Its entities depend on it. @default 'postgres' */
  readonly type?: OutboxDataSourceType;
  /**
   * Creates the listener connection of a worker, and each replacement for it. The outbox connects and closes it. Set it
   * if the data source connects through a transaction pooler such as PgBouncer, and connect to the server directly.
   *
   * @default on PostgreSQL a client with the options of the data source; elsewhere none: a worker polls
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
 * Binds `TypeormOutboxStore` as the store, with its `DataSource`, schema, job locks and processed messages, and on
 * PostgreSQL the worker wake-up.
 *
 * @example
 * OutboxTypeormModule.forRoot({
 *   dataSource: (entities) => new DataSource({ type: 'postgres', url, entities: [Order, ...entities] }),
 * });
 */
export const OutboxTypeormModule = {
  [Symbol.toStringTag]: 'OutboxTypeormModule',

  /** @throws `INVALID_CONFIG` if `dataSource` is neither a data source nor a function. */
  forRoot(given: OutboxTypeormModuleOptions): StoreModule<TypeormTransaction> {
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
        ...sqlCapabilities<TypeormDatabase>(
          (token, make) =>
            provideFactory(token, [DataSource, ClaimSessions], (source, claimSessions) =>
              make({ ...databaseOf(source, options), claimSessions, dataSource: source }),
            ),
          { ...options, listenClient: listenClient ?? listenClientFor(typeOf(dataSource, type)) },
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

/** Options of `typeormStore`. */
export type TypeormStoreOptions = Omit<OutboxTypeormModuleOptions, 'dataSource'>;

/**
 * Stores the outbox through a TypeORM data source, on PostgreSQL, MySQL, MariaDB or SQLite. `enqueueWith` takes the entity
 * manager of your transaction.
 *
 * @throws `INVALID_CONFIG` if `dataSource` is neither a data source nor a function.
 *
 * @example
 * const outbox = createOutbox({ store: typeormStore(dataSource), publisher });
 */
export function typeormStore(
  dataSource: OutboxTypeormModuleOptions['dataSource'],
  options: TypeormStoreOptions = {},
): StoreModule<TypeormTransaction> {
  return OutboxTypeormModule.forRoot({ ...options, dataSource });
}

interface TypeormDatabase extends SqlDatabase {
  readonly dataSource: DataSource;
}

/** Undefined on databases that do not notify. */
function listenClientFor(type: string): ((database: TypeormDatabase) => ListenClientLike) | undefined {
  return type === 'postgres' ? ({ dataSource }) => listenClientOf(dataSource) : undefined;
}

function typeOf(
  dataSource: OutboxTypeormModuleOptions['dataSource'],
  type: OutboxDataSourceType = 'postgres',
): string {
  return typeof dataSource === 'function' ? type : dataSource.options.type;
}

/** Entities for another database would fail late, with an error that does not name the cause. */
function withEntities(
  make: (entities: EntitySchema[]) => DataSource,
  type: OutboxDataSourceType = 'postgres',
  place: TableOptions,
): DataSource {
  const dataSource = make(kindOf(type).entities(place));
  const made = dataSource.options.type;
  if (made === type) return dataSource;
  throw new OutboxError(
    'INVALID_CONFIG',
    `the function created a data source of type '${made}' with entities for '${type}': pass type: '${made}' to OutboxTypeormModule.forRoot`,
  );
}

/** Closes the data source only if it opened it. */
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
