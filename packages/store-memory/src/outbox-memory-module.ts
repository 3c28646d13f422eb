import { EnqueuePipeline, type Module, OutboxStore, provideFactory } from '@postcommit/core';
import { MemoryOutboxStore, type MemoryOutboxStoreOptions } from './memory-outbox-store.js';

export type OutboxMemoryModuleOptions = Omit<MemoryOutboxStoreOptions, 'pipeline'>;

/** Binds `MemoryOutboxStore` as the store. Rows are gone when the process ends. */
export const OutboxMemoryModule: Module & { forRoot(options?: OutboxMemoryModuleOptions): Module } = {
  ...memoryModule({}),
  forRoot: (options = {}) => memoryModule(options),
};

function memoryModule(options: OutboxMemoryModuleOptions): Module {
  return {
    name: 'OutboxMemoryModule',
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
