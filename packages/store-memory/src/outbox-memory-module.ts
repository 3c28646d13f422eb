import { EnqueuePipeline, OutboxStore, provideFactory, type StoreModule } from '@postcommit/core';
import { assertKnownOptions, type OptionNames } from '@postcommit/core/internal';
import { MemoryOutboxStore, type MemoryOutboxStoreOptions } from './memory-outbox-store.js';
import type { MemoryTransaction } from './memory-transaction.js';

export type OutboxMemoryModuleOptions = Omit<MemoryOutboxStoreOptions, 'pipeline'>;

const OPTION_NAMES: OptionNames<OutboxMemoryModuleOptions> = {
  claimTimeoutMs: true,
  table: true,
  random: true,
};

/** Binds `MemoryOutboxStore` as the store. Rows are lost when the process ends. */
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
      provideFactory(
        MemoryOutboxStore,
        [EnqueuePipeline],
        (pipeline) => new MemoryOutboxStore({ ...options, pipeline }),
      ),
      { provide: OutboxStore, useExisting: MemoryOutboxStore },
    ],
  };
}
