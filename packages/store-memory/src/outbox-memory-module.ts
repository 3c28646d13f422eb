import {
  assertKnownOptions,
  EnqueuePipeline,
  type Module,
  type OptionNames,
  OutboxStore,
  provideFactory,
} from '@postcommit/core';
import { MemoryOutboxStore, type MemoryOutboxStoreOptions } from './memory-outbox-store.js';

export type OutboxMemoryModuleOptions = Omit<MemoryOutboxStoreOptions, 'pipeline'>;

const OPTION_NAMES: OptionNames<OutboxMemoryModuleOptions> = {
  claimTimeoutMs: true,
  table: true,
  random: true,
};

/** Binds `MemoryOutboxStore` as the store. Rows are gone when the process ends. */
export const OutboxMemoryModule: Module & { forRoot(options?: OutboxMemoryModuleOptions): Module } = {
  ...memoryModule({}),
  forRoot: (options = {}) => memoryModule(options),
};

function memoryModule(options: OutboxMemoryModuleOptions): Module {
  assertKnownOptions('OutboxMemoryModule', options, OPTION_NAMES);
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
