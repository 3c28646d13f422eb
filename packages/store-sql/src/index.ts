// The store over any driver
export type { SqlOutboxStoreOptions } from './store/sql-outbox-store.js';
export { SQL_STORE_OPTION_NAMES, SqlOutboxStore } from './store/sql-outbox-store.js';
export type { TableOptions } from './table-name.js';
export { TableName } from './table-name.js';

// Dialects and the seam between databases
export { mysql } from './mysql/dialect.js';
export { postgres } from './postgres/dialect.js';
export { sqlite } from './sqlite/dialect.js';
export type {
  Claim,
  DatabaseFault,
  Difference,
  DuePlace,
  EndState,
  KeyedClaim,
  KeyedLockStatements,
  LockStatements,
  LongTransactionStatements,
  ProcessedStatements,
  SchemaStatements,
  SqlDialect,
  SqlTableOptions,
  UnkeyedClaim,
  UnpublishedOutcome,
} from './dialect.js';
export { KeyedLockTimeout } from './dialect.js';

// Capabilities
export type { BindToDatabase, ListeningOptions, SqlDatabase } from './capabilities/sql-capabilities.js';
export { sqlCapabilities, wakeupLifecycle } from './capabilities/sql-capabilities.js';
export { SqlDiagnostics } from './capabilities/sql-diagnostics.js';
export { SqlJobLock } from './capabilities/sql-job-lock.js';
export { SqlOutboxSchema } from './capabilities/sql-outbox-schema.js';
export { SqlProcessedMessages } from './capabilities/sql-processed-messages.js';

// Listening on PostgreSQL
export type { ListenClientLike, NamedQuery, Notification } from './postgres/listen/listen-client-like.js';
export type { PostgresWakeupOptions } from './postgres/listen/postgres-wakeup.js';
export { PostgresWakeup } from './postgres/listen/postgres-wakeup.js';
export type { ClaimSession } from './claim/claim-sessions.js';
export { ClaimSessions } from './claim/claim-sessions.js';

// Running statements
export { runWork, runWorkAtOnce } from './run-work.js';
export type { SqlExecutor, SqlRecord, SqlStatement, SqlSteps, SqlWork } from './sql-statement.js';
