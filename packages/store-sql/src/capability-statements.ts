import type { SchemaProblem } from '@postcommit/core';
import type { WorkerIdentity, WorkerReport } from '@postcommit/core/internal';
import type { SqlRecord, SqlStatement, SqlSteps, SqlWork } from './sql-statement.js';
import type { TableName } from './table-name.js';

/** The job locks, by the database's clock. A returned record means success. */
export interface LockStatements {
  take(table: TableName, name: string, token: string, ttlMs: number): SqlWork;
  renew(table: TableName, name: string, token: string, ttlMs: number): SqlWork;
  release(table: TableName, name: string, token: string): SqlStatement;
}

/** The record of what consumers have processed. */
export interface ProcessedStatements {
  /** Returns a record if the entry is new. Waits for an open transaction that stores the same entry. */
  remember(table: TableName, consumer: string, rowId: string): SqlWork;
  /** Deletes one page; one record with `deleted`. */
  purgePage(table: TableName, ageMs: number, pageSize: number): SqlWork;
}

/** The workers that share the outbox, by the database's clock. */
export interface WorkerStatements {
  /** Does nothing if there is a record under this id. */
  register(table: TableName, worker: WorkerIdentity, report: WorkerReport): SqlStatement;
  /**
   * Statements that run one after another, each on its own. The last one returns no record if this worker is lost or has
   * no record; otherwise one for each other worker, or one with a null `id` if there is none.
   */
  beat(table: TableName, id: string, report: WorkerReport): readonly SqlStatement[];
  /** Returns a record if this call declared the worker lost. */
  declareLost(table: TableName, id: string, lastSeen: string): SqlWork;
  /**
   * Ends claims of a worker that was declared lost, at most `pageSize`; one record with `ended`. Waits for no lock: rows
   * that are locked are skipped.
   */
  endClaims(table: TableName, id: string, pageSize: number): SqlWork;
  /** Deletes the record of a worker that was declared lost, unless `endClaims` has left claims of it. */
  forgetLost(table: TableName, id: string): SqlWork;
  remove(table: TableName, id: string): SqlStatement;
  list(table: TableName): SqlStatement;
}

/** The longest claim, and so the longest wait for a row of a lost worker. */
export const MAX_WAIT_MS = 2 ** 31 - 1;

/** The topics that are paused. A returned record means that the call changed something. */
export interface PauseStatements {
  /** Wakes workers, if the database can. */
  pause(table: TableName, topic: string): SqlWork;
  resume(table: TableName, topic: string): SqlWork;
  /** Records with `topic` and `since_ms`. */
  list(table: TableName): SqlStatement;
}

/** How to create the tables, and how to find what is missing. */
export interface SchemaStatements {
  /** Contains the schema version. */
  readonly title: string;
  /** Idempotent statements. */
  create(table: TableName): readonly string[];
  /** Reads from the catalog whether the tables are ours and what they lack. */
  compare(table: TableName): SqlSteps<Comparison>;
  /** Whether an adoption is rolled back as a whole when one of its statements fails. */
  readonly isAtomic: boolean;
  /** Serializes instances that start at the same time. Held until the transaction ends, or until `unlock`. */
  lock(table: TableName): SqlStatement;
  unlock?(table: TableName): SqlStatement;
}

export interface Comparison {
  /** Set if a table with one of our names is not ours; it is then changed only by an explicit adoption. */
  readonly foreign?: ForeignTable;
  readonly differences: readonly Difference[];
}

/** A table with one of our names that is not ours. */
export interface ForeignTable {
  readonly problem: string;
  /** What prevents its adoption, each with how to fix it. */
  readonly obstacles: readonly string[];
  /** The statements that adopt it. Afterwards no row is pending; the mark is set last. */
  readonly adoption: readonly string[];
  /** Restores the session settings that the adoption changed. */
  readonly restore?: readonly string[];
}

/** A difference between the tables and what the store needs, with the statements that fix it. */
export interface Difference {
  readonly level: 'required' | 'tuning';
  readonly problem: string;
  readonly statements: readonly string[];
  /** `ensure` does not fix it, because it needs a human decision. */
  readonly isByHand?: boolean;
}

export interface LongTransactionStatements {
  find(olderThanMs: number): SqlStatement;
  problemOf(record: SqlRecord): SchemaProblem;
}
