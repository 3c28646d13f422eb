// The store
export type { PgClientLike, PgPoolLike } from './pg-client-like.js';
export { pgExecutor } from './pg-outbox-store.js';
export { PgOutboxStore } from './pg-outbox-store.js';
export { inTransaction } from './in-transaction.js';

// The module
export type { OutboxPgModuleOptions } from './outbox-pg-module.js';
export { OutboxPgModule, pgStore } from './outbox-pg-module.js';
