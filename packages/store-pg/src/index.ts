export { inTransaction } from './in-transaction.js';
export type { OutboxPgModuleOptions, PgStoreOptions } from './outbox-pg-module.js';
export { OutboxPgModule, pgStore } from './outbox-pg-module.js';
export type {
  PgClientEvents,
  PgClientLike,
  PgPoolClientLike,
  PgPoolLike,
  PgQuery,
} from './pg-client-like.js';
export { pgExecutor } from './pg-executor.js';
export type { PgOutboxStoreOptions } from './pg-outbox-store.js';
export { PgOutboxStore } from './pg-outbox-store.js';
