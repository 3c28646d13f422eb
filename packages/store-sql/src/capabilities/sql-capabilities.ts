import {
  JobLock,
  type Lifecycle,
  OutboxError,
  OutboxPauses,
  OutboxSchema,
  OutboxWakeup,
  ProcessedMessages,
  type Provider,
  provideFactory,
  type Token,
} from '@postcommit/core';
import { OutboxDiagnostics, OutboxWorkers } from '@postcommit/core/internal';
import { ClaimSessions } from '../claim/claim-sessions.js';
import type { SqlTableOptions } from '../dialect.js';
import { postgres } from '../postgres/dialect.js';
import type { ListenClientLike } from '../postgres/listen/listen-client-like.js';
import { PostgresWakeup } from '../postgres/listen/postgres-wakeup.js';
import type { SqlExecutor } from '../sql-statement.js';
import type { SqlOutboxStore } from '../store/sql-outbox-store.js';
import type { SqlOutboxStoreOptions } from '../store/store-options.js';
import { SqlDiagnostics } from './sql-diagnostics.js';
import { SqlJobLock } from './sql-job-lock.js';
import { SqlOutboxPauses } from './sql-outbox-pauses.js';
import { SqlOutboxSchema } from './sql-outbox-schema.js';
import { SqlOutboxWorkers } from './sql-outbox-workers.js';
import { SqlProcessedMessages } from './sql-processed-messages.js';

/** The outbox tables and how to run statements on them. */
export interface SqlDatabase {
  // biome-ignore lint/suspicious/noExplicitAny: the transactions of every driver.
  readonly executor: SqlExecutor<any>;
  readonly table: SqlTableOptions;
  /** The store's sessions, if its claims may run on the listener connection. */
  readonly claimSessions?: ClaimSessions;
}

/** Binds a token to a factory that takes the database; each store module resolves its own dependencies. */
export type BindToDatabase<Database extends SqlDatabase = SqlDatabase> = <T>(
  token: Token<T>,
  make: (database: Database) => T,
) => Provider<T>;

/** The options of a store module that determine whether workers listen. */
export interface ListeningOptions<Database extends SqlDatabase = SqlDatabase>
  extends Pick<SqlOutboxStoreOptions, 'wakeup' | 'clock'> {
  readonly listenClient?: ((database: Database) => ListenClientLike) | undefined;
}

/** Returns what a store module binds besides its store. Includes `OutboxWakeup` only if `listenClient` is set. */
export function sqlCapabilities<Database extends SqlDatabase = SqlDatabase>(
  bind: BindToDatabase<Database>,
  options: ListeningOptions<Database> = {},
): Provider[] {
  const { wakeup = true, listenClient, clock } = options;
  const bindNamed: typeof bind = (token, make) =>
    bind(token, (database) => make({ ...database, table: namesOf(database.table) }));
  const capabilities: Provider[] = [
    provideFactory(ClaimSessions, [], () => new ClaimSessions()),
    bindNamed(OutboxSchema, ({ executor, table }) => new SqlOutboxSchema(executor, table)),
    bindNamed(JobLock, ({ executor, table }) => new SqlJobLock(executor, table)),
    bindNamed(OutboxDiagnostics, ({ executor, table }) => new SqlDiagnostics(executor, table)),
    bindNamed(ProcessedMessages, ({ executor, table }) => new SqlProcessedMessages(executor, table)),
    bindNamed(OutboxWorkers, ({ executor, table }) => new SqlOutboxWorkers(executor, table)),
    bindNamed(OutboxPauses, ({ executor, table }) => new SqlOutboxPauses(executor, table)),
  ];
  if (!wakeup || !listenClient) return capabilities;
  return [
    ...capabilities,
    bindNamed(OutboxWakeup, (database) => {
      const { executor, table, claimSessions } = database;
      assertNotifies(table);
      const { dialect: _, ...named } = table;
      const listening = { listenClient: () => listenClient(database), ...(clock && { clock }) };
      return new PostgresWakeup(executor, { ...named, ...listening, claimSessions });
    }),
  ];
}

/** A store module passes all its options, and the capabilities reject those that they don't know. */
function namesOf({ dialect, table, schema }: SqlTableOptions): SqlTableOptions {
  return {
    ...(dialect && { dialect }),
    ...(table !== undefined && { table }),
    ...(schema !== undefined && { schema }),
  };
}

function assertNotifies({ dialect = postgres }: SqlTableOptions): void {
  if (dialect.hints) return;
  throw new OutboxError(
    'INVALID_CONFIG',
    `listenClient is for PostgreSQL: ${dialect.name} can't wake workers, they poll instead; leave it out`,
  );
}

/** Flushes the wake-up at stop. Contribute it after the lifecycle of the store's connection, so that it stops first. */
export function wakeupLifecycle(store: SqlOutboxStore<never>): Lifecycle {
  return {
    name: 'outbox wake-up',
    phase: 'resource',
    start: () => {},
    stop: () => store.flushWakeup(),
  };
}
