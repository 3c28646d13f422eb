import { setTimeout as pause } from 'node:timers/promises';
import { OutboxError } from '@postcommit/core';
import { runWorkAtOnce, type SqlExecutor, type SqlRecord, type SqlWork } from '@postcommit/store-sql';
import { CannotExecuteNotConnectedError, type DataSource } from 'typeorm';
import { type SqliteConnection, statementOf } from './sqlite-connection.js';
import { runningSave, type SavingDriver, save } from './sqljs-saving.js';
import { runOn } from './typeorm-executor.js';
import { type TypeormTransaction, transactionOf } from './typeorm-transaction.js';

/** TypeORM's own busy timeout for better-sqlite3. */
const BUSY_TIMEOUT_MS = 5_000;
/** Pauses between attempts; the last one repeats. */
const PAUSES_MS = [1, 2, 5, 10, 20];

/** The part of TypeORM's SQLite drivers that the executor uses. */
interface SqliteDriver extends SavingDriver {
  readonly databaseConnection: unknown;
  readonly queryRunner?: { readonly isTransactionActive: boolean };
}

/** Why a transaction can't begin now. */
type Obstacle = { readonly kind: 'open transaction' } | { readonly kind: 'busy'; readonly error: unknown };

/**
 * Runs statements on the only connection that TypeORM opens for SQLite. The whole process shares it, so a statement sent
 * while the application has a transaction open would become part of that transaction. The executor waits until none is
 * open, then runs from BEGIN to COMMIT synchronously.
 */
export function singleConnectionExecutor(
  dataSource: DataSource,
  connect: (database: unknown) => SqliteConnection,
  busyTimeoutMs: number = BUSY_TIMEOUT_MS,
): SqlExecutor<TypeormTransaction> {
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

/** TypeORM sets its flag before it sends BEGIN: in between, the connection belongs to the application. */
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

/** Synchronous up to the save. */
async function finish(
  driver: SqliteDriver,
  connection: SqliteConnection,
  work: SqlWork,
): Promise<SqlRecord[]> {
  const before = driver.options?.autoSave ? stateOf(connection) : undefined;
  const records = commit(connection, work);
  // An idle worker must not write the whole database to its file once a second.
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

/** Fails if SQLite has already rolled back by itself, as it does after some errors. */
function rollBack(connection: SqliteConnection): void {
  try {
    connection.run(statementOf('rollback'));
  } catch {}
}

/** Changes with every change of rows or tables. */
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
    `the outbox waited ${busyTimeoutMs} ms for a transaction that is open on the data source's only connection: inside a transaction, call only enqueueWith; if the transaction is long, shorten it or raise busyTimeoutMs`,
  );
}
