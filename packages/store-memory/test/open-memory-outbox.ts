import {
  MemoryOutboxStore,
  type MemoryOutboxStoreOptions,
  MemoryTable,
  type MemoryTransaction,
  VirtualClock,
} from '@postcommit/store-memory';
import type { OutboxFixture } from '@postcommit/store-testkit';

/** `createStore` lets a test put a subclass of its own in place of the store. */
export function openMemoryOutbox(
  createStore = (options: MemoryOutboxStoreOptions): MemoryOutboxStore => new MemoryOutboxStore(options),
): OutboxFixture<MemoryTransaction> {
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
    close: async () => {},
  };
}
