import { setTimeout as pause } from 'node:timers/promises';
import { OutboxError } from '@postcommit/core';
import { runWorkAtOnce, type SqlExecutor, type SqlRecord, type SqlWork } from '@postcommit/store-sql';
import { CannotExecuteNotConnectedError, type DataSource, type EntityManager } from 'typeorm';
import { type SqliteConnection, statementOf } from './sqlite-connection.js';
import { runningSave, type SavingDriver, save } from './sqljs-saving.js';
import { runOn } from './typeorm-executor.js';
import { transactionOf } from './typeorm-transaction.js';

/** As long as TypeORM lets better-sqlite3 wait for another process. */
const BUSY_TIMEOUT_MS = 5_000;
/** Between two tries; the last one is repeated. */
const PAUSES_MS = [1, 2, 5, 10, 20];

/** What we read of TypeORM's drivers for SQLite. */
interface SqliteDriver extends SavingDriver {
  readonly databaseConnection: unknown;
  readonly queryRunner?: { readonly isTransactionActive: boolean };
}

/** Why work can't begin now. */
type Obstacle = { readonly kind: 'open transaction' } | { readonly kind: 'busy'; readonly error: unknown };

/**
 * Runs work on the one connection that TypeORM opens for SQLite, and that everybody in the process shares: a statement
 * sent while the application's transaction is open would become part of it. So work waits until none is open, and then
 * runs from BEGIN to COMMIT without giving up control.
 */
export function singleConnectionExecutor(
  dataSource: DataSource,
  connect: (database: unknown) => SqliteConnection,
  busyTimeoutMs: number = BUSY_TIMEOUT_MS,
): SqlExecutor<EntityManager> {
  if (!(busyTimeoutMs >= 0)) {
    throw new OutboxError('INVALID_CONFIG', `busyTimeoutMs must be 0 or more, got ${busyTimeoutMs}`);
  }
  return async (work, tx) => {
    if (tx) return runOn(transactionOf(tx), work);
    const deadline = performance.now() + busyTimeoutMs;
    for (let attempt = 0; ; attempt++) {
      const driver = dataSource.driver as unknown as SqliteDriver;
      for (let saving = runningSave(driver); saving; saving = runningSave(driver)) await saving;
      if (!dataSource.isInitialized) throw new CannotExecuteNotConnectedError();
      const connection = connect(driver.databaseConnection);
      const obstacle = begin(driver, connection);
      if (!obstacle) return finish(driver, connection, work);
      if (performance.now() >= deadline) throw timedOut(obstacle, busyTimeoutMs);
      await pause(PAUSES_MS[Math.min(attempt, PAUSES_MS.length - 1)]);
    }
  };
}

/** TypeORM's flag comes before its BEGIN: what starts in between belongs to the application. */
function begin({ queryRunner }: SqliteDriver, connection: SqliteConnection): Obstacle | undefined {
  if (queryRunner?.isTransactionActive) return { kind: 'open transaction' };
  try {
    connection.beginImmediate();
    return undefined;
  } catch (error) {
    const message = error instanceof Error ? error.message : '';
    if (/within a transaction/.test(message)) return { kind: 'open transaction' };
    if (/database (table )?is locked/.test(message)) return { kind: 'busy', error };
    throw error;
  }
}

/** Everything up to the save happens at once. */
async function finish(
  driver: SqliteDriver,
  connection: SqliteConnection,
  work: SqlWork,
): Promise<SqlRecord[]> {
  const before = driver.options?.autoSave ? stateOf(connection) : undefined;
  const records = commit(connection, work);
  // A worker that finds nothing to do must not write the whole database, once a second.
  if (before !== undefined && stateOf(connection) !== before) await save(driver);
  return records;
}

function commit(connection: SqliteConnection, work: SqlWork): SqlRecord[] {
  try {
    const records = runWorkAtOnce(work, connection.run);
    connection.run(statementOf('commit'));
    return records;
  } catch (error) {
    rollBack(connection);
    throw error;
  }
}

/** After some errors SQLite has rolled back by itself, and says so. */
function rollBack(connection: SqliteConnection): void {
  try {
    connection.run(statementOf('rollback'));
  } catch {}
}

/** Differs after every change of rows or of tables. */
function stateOf({ run }: SqliteConnection): string {
  return JSON.stringify([
    run(statementOf('select total_changes()')),
    run(statementOf('pragma schema_version')),
  ]);
}

function timedOut(obstacle: Obstacle, busyTimeoutMs: number): unknown {
  if (obstacle.kind === 'busy') return obstacle.error;
  return new OutboxError(
    'INVALID_TRANSACTION',
    `the outbox waited ${busyTimeoutMs} ms for a transaction that is open on the data source's only connection: inside a transaction use enqueueWith, and await nothing else of the outbox there; if the transaction is just long, shorten it or raise busyTimeoutMs`,
  );
}
