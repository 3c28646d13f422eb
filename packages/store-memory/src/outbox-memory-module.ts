import {
  EnqueuePipeline,
  OutboxPauses,
  OutboxStore,
  provideFactory,
  type StoreModule,
} from '@postcommit/core';
import { assertKnownOptions, type OptionNames, OutboxWorkers } from '@postcommit/core/internal';
import { MemoryOutboxPauses } from './memory-outbox-pauses.js';
import { MemoryOutboxStore, type MemoryOutboxStoreOptions } from './memory-outbox-store.js';
import { MemoryOutboxWorkers } from './memory-outbox-workers.js';
import { MemoryTable } from './memory-table.js';
import type { MemoryTransaction } from './memory-transaction.js';

export type OutboxMemoryModuleOptions = Omit<MemoryOutboxStoreOptions, 'pipeline'>;

const OPTION_NAMES: OptionNames<OutboxMemoryModuleOptions> = {
  claimTimeoutMs: true,
  table: true,
  random: true,
};

/** Binds `MemoryOutboxStore` as the store, with its workers and paused topics. Rows are lost when the process ends. */
export const OutboxMemoryModule: StoreModule<MemoryTransaction> & {
  forRoot(options?: OutboxMemoryModuleOptions): StoreModule<MemoryTransaction>;
} = {
  ...memoryModule({}),
  forRoot: (options = {}) => memoryModule(options),
};

/**
 * Stores the outbox in memory, for tests and for single-process applications that may lose rows.
 *
 * @example
 * const outbox = createOutbox({ store: memoryStore(), publisher });
 */
export function memoryStore(options: OutboxMemoryModuleOptions = {}): StoreModule<MemoryTransaction> {
  return memoryModule(options);
}

function memoryModule(options: OutboxMemoryModuleOptions): StoreModule<MemoryTransaction> {
  assertKnownOptions('OutboxMemoryModule', options, OPTION_NAMES);
  return {
    name: 'OutboxMemoryModule',
    store: MemoryOutboxStore,
    provides: [
      provideFactory(MemoryTable, [], () => options.table ?? new MemoryTable()),
      provideFactory(
        MemoryOutboxStore,
        [EnqueuePipeline, MemoryTable],
        (pipeline, table) => new MemoryOutboxStore({ ...options, pipeline, table }),
      ),
      { provide: OutboxStore, useExisting: MemoryOutboxStore },
      provideFactory(OutboxWorkers, [MemoryTable], (table) => new MemoryOutboxWorkers(table)),
      provideFactory(OutboxPauses, [MemoryTable], (table) => new MemoryOutboxPauses(table)),
    ],
  };
}
