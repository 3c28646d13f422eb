// The store over any driver
export { SqlOutboxStore } from './store/sql-outbox-store.js';
export type { SqlOutboxStoreOptions } from './store/store-options.js';
export { SQL_STORE_OPTION_NAMES } from './store/store-options.js';
export type { TableOptions } from './table-name.js';
export { TableName } from './table-name.js';

// Dialects
export type { SqlDialect } from './dialect.js';
export { mysql } from './mysql/dialect.js';
export { postgres } from './postgres/dialect.js';
export { sqlite } from './sqlite/dialect.js';

// Capabilities
export type { SqlDatabase } from './capabilities/sql-capabilities.js';
export { sqlCapabilities, wakeupLifecycle } from './capabilities/sql-capabilities.js';
export { SqlJobLock } from './capabilities/sql-job-lock.js';
export { SqlOutboxSchema } from './capabilities/sql-outbox-schema.js';

// Listening on PostgreSQL
export type { ListenClientLike } from './postgres/listen/listen-client-like.js';
export { ClaimSessions } from './claim/claim-sessions.js';

// Running statements
export { runWork, runWorkAtOnce } from './run-work.js';
export { limitedPgQuery } from './postgres/limited-query.js';
export type {
  SqlExecutor,
  SqlRecord,
  SqlStatement,
  SqlSteps,
  SqlWork,
  StatementBound,
} from './sql-statement.js';
