// The store over any driver

// Where claims are run
export type { ClaimSession } from './claim-sessions.js';
export { ClaimSessions } from './claim-sessions.js';
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
export type { ListenClientLike, NamedQuery, Notification } from './postgres/listen-client-like.js';
export type { PostgresWakeupOptions } from './postgres/postgres-wakeup.js';
export { PostgresWakeup } from './postgres/postgres-wakeup.js';
// How work is run
export { runWork, runWorkAtOnce } from './run-work.js';
// Capabilities
export type { BindToDatabase, ListeningOptions, SqlDatabase } from './sql-capabilities.js';
export { sqlCapabilities, wakeupLifecycle } from './sql-capabilities.js';
export { SqlDiagnostics } from './sql-diagnostics.js';
export { SqlJobLock } from './sql-job-lock.js';
export { SqlOutboxSchema } from './sql-outbox-schema.js';
export type { SqlOutboxStoreOptions } from './sql-outbox-store.js';
export { SQL_STORE_OPTION_NAMES, SqlOutboxStore } from './sql-outbox-store.js';
export { SqlProcessedMessages } from './sql-processed-messages.js';
export type { SqlExecutor, SqlRecord, SqlStatement, SqlSteps, SqlWork } from './sql-statement.js';
export { sqlite } from './sqlite/dialect.js';
export type { TableOptions } from './table-name.js';
export { TableName } from './table-name.js';
