import type { OutboxPauses } from '@postcommit/core';
import type { OutboxWorkers } from '@postcommit/core/internal';
import {
  MemoryOutboxStore,
  type MemoryOutboxStoreOptions,
  MemoryTable,
  type MemoryTransaction,
  VirtualClock,
} from '@postcommit/store-memory';
import type { OutboxFixture } from '@postcommit/store-testkit';
import { MemoryOutboxPauses } from '../src/memory-outbox-pauses.js';
import { MemoryOutboxWorkers } from '../src/memory-outbox-workers.js';

/** Subclasses that a test puts in place of the store and its capabilities. */
export interface MemoryParts {
  readonly createStore?: (options: MemoryOutboxStoreOptions & { table: MemoryTable }) => MemoryOutboxStore;
  readonly createWorkers?: (table: MemoryTable) => OutboxWorkers;
  readonly createPauses?: (table: MemoryTable) => OutboxPauses;
}

export function openMemoryOutbox({
  createStore = (options) => new MemoryOutboxStore(options),
  createWorkers = (table) => new MemoryOutboxWorkers(table),
  createPauses = (table) => new MemoryOutboxPauses(table),
}: MemoryParts = {}): OutboxFixture<MemoryTransaction> {
  const clock = new VirtualClock();
  const table = new MemoryTable(clock);
  return {
    createStore: (options) => createStore({ ...options, table }),
    now: async () => new Date(clock.now()),
    advance: (ms) => clock.advance(ms),
    begin: async () => {
      const tx = createStore({ table }).begin();
      return {
        handle: tx,
        savepoint: async () => {
          const rollback = tx.savepoint();
          return async () => rollback();
        },
        commit: async () => tx.commit(),
        rollback: async () => tx.rollback(),
      };
    },
    workers: createWorkers(table),
    pauses: createPauses(table),
    close: async () => {},
  };
}
