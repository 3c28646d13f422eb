import {
  EnqueuePipeline,
  JobLock,
  type Module,
  OutboxSchema,
  OutboxStore,
  ProcessedMessages,
  provideFactory,
} from '@postcommit/core';
import { SqlJobLock, SqlOutboxSchema, SqlProcessedMessages } from '@postcommit/sql';
import type { PgPoolLike } from './pg-client-like.js';
import { pgExecutor } from './pg-executor.js';
import { PgOutboxStore, type PgOutboxStoreOptions } from './pg-outbox-store.js';

export interface OutboxPgModuleOptions extends Omit<PgOutboxStoreOptions, 'pipeline'> {
  /** Yours: it is neither opened nor closed here. */
  readonly pool: PgPoolLike;
}

/** Binds `PgOutboxStore` as the store, with its schema, job locks and processed messages. */
export const OutboxPgModule = {
  forRoot({ pool, ...options }: OutboxPgModuleOptions): Module {
    const executor = pgExecutor(pool);
    return {
      name: 'OutboxPgModule',
      provides: [
        provideFactory(
          PgOutboxStore,
          [EnqueuePipeline],
          (pipeline) => new PgOutboxStore(pool, { ...options, pipeline }),
        ),
        { provide: OutboxStore, useExisting: PgOutboxStore },
        { provide: OutboxSchema, useFactory: () => new SqlOutboxSchema(executor, options) },
        { provide: JobLock, useFactory: () => new SqlJobLock(executor, options) },
        { provide: ProcessedMessages, useFactory: () => new SqlProcessedMessages(executor, options) },
      ],
    };
  },
};
