import {
  contributeFactory,
  EnqueuePipeline,
  JobLock,
  type Lifecycle,
  Lifecycles,
  type Module,
  OutboxSchema,
  OutboxStore,
  ProcessedMessages,
  provideFactory,
} from '@postcommit/core';
import { SqlJobLock, SqlOutboxSchema, SqlProcessedMessages } from '@postcommit/sql';
import { DataSource, type EntitySchema } from 'typeorm';
import { outboxEntitiesFor } from './outbox-entity.js';
import { typeormExecutor } from './typeorm-executor.js';
import { TypeormOutboxStore, type TypeormOutboxStoreOptions, tableOf } from './typeorm-outbox-store.js';

export interface OutboxTypeormModuleOptions extends Omit<TypeormOutboxStoreOptions, 'pipeline'> {
  /**
   * Yours, or a function that is handed the outbox's entities and makes it. When it is not initialised yet,
   * `app.start()` does that, and `app.stop()` then destroys it.
   */
  readonly dataSource: DataSource | ((entities: EntitySchema[]) => DataSource);
}

/**
 * Binds `TypeormOutboxStore` as the store, with its schema, job locks and processed messages, and the `DataSource`.
 *
 * @example
 * OutboxTypeormModule.forRoot({
 *   dataSource: (entities) => new DataSource({ type: 'postgres', url, entities: [Order, ...entities] }),
 * });
 */
export const OutboxTypeormModule = {
  forRoot({ dataSource, ...options }: OutboxTypeormModuleOptions): Module {
    return {
      name: 'OutboxTypeormModule',
      provides: [
        provideFactory(DataSource, [], () =>
          typeof dataSource === 'function' ? dataSource(outboxEntitiesFor(options)) : dataSource,
        ),
        provideFactory(
          TypeormOutboxStore,
          [DataSource, EnqueuePipeline],
          (source, pipeline) => new TypeormOutboxStore(source, { ...options, pipeline }),
        ),
        { provide: OutboxStore, useExisting: TypeormOutboxStore },
        provideFactory(
          OutboxSchema,
          [DataSource],
          (source) => new SqlOutboxSchema(typeormExecutor(source), tableOf(source, options)),
        ),
        provideFactory(
          JobLock,
          [DataSource],
          (source) => new SqlJobLock(typeormExecutor(source), tableOf(source, options)),
        ),
        provideFactory(
          ProcessedMessages,
          [DataSource],
          (source) => new SqlProcessedMessages(typeormExecutor(source), tableOf(source, options)),
        ),
      ],
      contributes: [contributeFactory(Lifecycles, [DataSource], dataSourceLifecycle)],
    };
  },
};

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
