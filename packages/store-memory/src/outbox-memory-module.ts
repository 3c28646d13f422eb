import {
  assertKnownOptions,
  EnqueuePipeline,
  type OptionNames,
  OutboxStore,
  provideFactory,
  type StoreModule,
} from '@postcommit/core';
import { MemoryOutboxStore, type MemoryOutboxStoreOptions } from './memory-outbox-store.js';
import type { MemoryTransaction } from './memory-transaction.js';

export type OutboxMemoryModuleOptions = Omit<MemoryOutboxStoreOptions, 'pipeline'>;

const OPTION_NAMES: OptionNames<OutboxMemoryModuleOptions> = {
  claimTimeoutMs: true,
  table: true,
  random: true,
};

/** Binds `MemoryOutboxStore` as the store. Rows are gone when the process ends. */
export const OutboxMemoryModule: StoreModule<MemoryTransaction> & {
  forRoot(options?: OutboxMemoryModuleOptions): StoreModule<MemoryTransaction>;
} = {
  ...memoryModule({}),
  forRoot: (options = {}) => memoryModule(options),
};

/**
 * The store of `createOutbox` in memory, for tests and single-process applications.
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
