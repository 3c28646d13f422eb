export type { MemoryOutboxStoreOptions } from './memory-outbox-store.js';
export { MemoryOutboxStore } from './memory-outbox-store.js';
export { MemoryTable } from './memory-table.js';
export { MemoryTransaction } from './memory-transaction.js';
export type { OutboxMemoryModuleOptions } from './outbox-memory-module.js';
export { memoryStore, OutboxMemoryModule } from './outbox-memory-module.js';
export { seededRandom } from './seeded-random.js';
export { VirtualClock } from './virtual-clock.js';
