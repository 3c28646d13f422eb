// The store
export type { MemoryOutboxStoreOptions } from './memory-outbox-store.js';
export { MemoryOutboxStore } from './memory-outbox-store.js';
export { MemoryTable } from './memory-table.js';
export { MemoryTransaction } from './memory-transaction.js';

// The module
export type { OutboxMemoryModuleOptions } from './outbox-memory-module.js';
export { memoryStore, OutboxMemoryModule } from './outbox-memory-module.js';

// For repeatable tests
export { seededRandom } from './seeded-random.js';
export { VirtualClock } from './virtual-clock.js';
