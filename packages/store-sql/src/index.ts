// The store over any driver

// Capabilities
export type { BindToDatabase, ListeningOptions, SqlDatabase } from './capabilities/sql-capabilities.js';
export { sqlCapabilities, wakeupLifecycle } from './capabilities/sql-capabilities.js';
export { SqlDiagnostics } from './capabilities/sql-diagnostics.js';
export { SqlJobLock } from './capabilities/sql-job-lock.js';
export { SqlOutboxSchema } from './capabilities/sql-outbox-schema.js';
export { SqlProcessedMessages } from './capabilities/sql-processed-messages.js';
// Where claims are run
export type { ClaimSession } from './claim/claim-sessions.js';
export { ClaimSessions } from './claim/claim-sessions.js';
// The seam between databases
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
export { mysql } from './mysql/dialect.js';
export { postgres } from './postgres/dialect.js';
// Wake-up on PostgreSQL
export type { ListenClientLike, NamedQuery, Notification } from './postgres/listen/listen-client-like.js';
export type { PostgresWakeupOptions } from './postgres/listen/postgres-wakeup.js';
export { PostgresWakeup } from './postgres/listen/postgres-wakeup.js';
// How work is run
export { runWork, runWorkAtOnce } from './run-work.js';
export type { SqlExecutor, SqlRecord, SqlStatement, SqlSteps, SqlWork } from './sql-statement.js';
export { sqlite } from './sqlite/dialect.js';
export type { SqlOutboxStoreOptions } from './store/sql-outbox-store.js';
export { SQL_STORE_OPTION_NAMES, SqlOutboxStore } from './store/sql-outbox-store.js';
export type { TableOptions } from './table-name.js';
export { TableName } from './table-name.js';
