import type {
  NewRow,
  OutboxState,
  Outcome,
  PurgeCut,
  RetryOptions,
  RowFilter,
  RowOrder,
  SchemaProblem,
} from '@postcommit/core';
import type { SqlRecord, SqlStatement, SqlSteps, SqlWork } from './sql-statement.js';
import type { NameQuote, TableName, TableOptions } from './table-name.js';

/** A place in the order in which rows fall due. */
export interface DuePlace {
  /** Microseconds since 1970 as text: the same for every session and zone, and not rounded by a driver. */
  readonly availableAt: string;
  readonly seq: string;
}

/** Who claims, and for how long. */
export interface Claim {
  readonly token: string;
  readonly timeoutMs: number;
  readonly limit: number;
  /** False when the batch has rows already: a retaken row must come alone. */
  readonly mayRetake: boolean;
}

export interface UnkeyedClaim extends Claim {
  /** Only rows behind this place, and none whose claim expired: those are looked for from the front. */
  readonly after: DuePlace | undefined;
  /** That place is the end of a full batch. Where this one is not full, another search follows in the same claim. */
  readonly isBacklog: boolean;
}

export interface KeyedClaim extends Claim {
  /** Due rows looked at, at the most: the cost follows the batch, not the backlog. */
  readonly window: number;
  /** Rows of one key, at the most. */
  readonly perKey: number;
  /** Only rows behind this place: those before it were looked at and are blocked. */
  readonly after: DuePlace | undefined;
  /** How long to wait for other keyed claims, as far as the database can bound it; then `KeyedLockTimeout` is thrown. */
  readonly lockWaitMs: number;
}

/** The lock of keyed claims was not free in time. */
export class KeyedLockTimeout extends Error {
  override readonly name = 'KeyedLockTimeout';

  constructor(cause: unknown) {
    super('the lock of keyed claims is held by another session', { cause });
  }
}

/** A claim on a row with a key must have this left to be extended: more than it takes to commit an extension. */
export function extendBeforeMs(timeoutMs: number): number {
  return Math.min(1_000, timeoutMs / 10);
}

/** The states that rows stay in until they are deleted. */
export type EndState = Exclude<OutboxState, 'pending'>;

/** A filter that names a state. */
export type StateFilter = RowFilter & { readonly state: OutboxState };

/** The outcomes that need more than an id. */
export type UnpublishedOutcome = Exclude<Outcome, { kind: 'dispatched' }>;

/** An error of the database that means something to the outbox. */
export type DatabaseFault = 'duplicate' | 'no table' | 'no column' | 'no index';

/** What a database must say, each as statements; it runs nothing. `postgres/`, `mysql/` and `sqlite/` say it. */
export interface SqlDialect {
  readonly name: string;
  /** What opens a transaction whose statements each see all that was committed before them. */
  readonly begin: readonly string[];
  /** Stands around the name of a table. */
  readonly quote: NameQuote;
  readonly locks: LockStatements;
  readonly processed: ProcessedStatements;
  readonly schema: SchemaStatements;
  /** Only where open transactions slow the outbox down, and the database tells of them. */
  readonly longTransactions?: LongTransactionStatements;
  /** Only where others than the outbox can hold the lock of keyed claims, and the database tells who does. */
  readonly keyedLock?: KeyedLockStatements;
  faultOf(error: unknown): DatabaseFault | undefined;
  /** One statement for any number of rows; `seq` follows the list. */
  insert(table: TableName, rows: readonly NewRow[]): SqlStatement;
  /**
   * Only where the database can tell other processes that rows were enqueued: the statement that tells them, or
   * `insert` with that added, so that it takes no further round trip and comes true only with the caller's commit.
   */
  notify?(table: TableName, insert?: SqlStatement): SqlStatement;
  /** One of these ids that is stored already. */
  findExisting(table: TableName, ids: readonly string[]): SqlStatement;
  /**
   * Claims due rows without a key. The first record has `keyed_due`, whether rows with a key are due; one without `id`
   * carries only that. There always is a first record, but for a claim that goes on in a backlog.
   */
  claimUnkeyed(table: TableName, claim: UnkeyedClaim): SqlWork;
  /**
   * Claims rows with a key: first a lock, then the claim, in one transaction. `KeyedLockTimeout` where the lock takes too
   * long. The first record has `window_rows`,
   * `last_available_at` and `last_seq`; one without `id` carries only these.
   */
  claimKeyed(table: TableName, claim: KeyedClaim): () => SqlSteps;
  /** Voids a claim whose result is unknown. */
  releaseToken(table: TableName, token: string): SqlWork;
  settleDispatched(table: TableName, token: string | undefined, ids: readonly string[]): SqlWork;
  settleUnpublished(
    table: TableName,
    token: string | undefined,
    outcomes: readonly UnpublishedOutcome[],
  ): SqlWork;
  /** Of these outcomes, those that an earlier settle under the same token recorded. */
  findReceipts(table: TableName, token: string, outcomes: readonly Outcome[]): SqlStatement;
  extendClaim(table: TableName, token: string, ids: readonly string[], timeoutMs: number): SqlWork;
  /** One record with the number of rows in each state. */
  count(table: TableName, filter?: RowFilter): SqlStatement;
  /** One record with `pending` and `due`, counted up to `atMost` where given, and `oldest_age_ms`. */
  backlog(table: TableName, atMost: number | undefined): SqlStatement;
  /** Reads no more than `limit` matching rows of each state, in the order of an index. */
  peek(table: TableName, filter: RowFilter, limit: number, order?: RowOrder): SqlStatement;
  requeue(table: TableName, id: string, retry?: RetryOptions): SqlWork;
  /** Requeues rows of the one state that the filter names, oldest first. */
  requeueWhere(table: TableName, filter: StateFilter, limit: number, retry?: RetryOptions): SqlWork;
  discard(table: TableName, ids: readonly string[]): SqlWork;
  /** A record means: it was pending. `was_claimed` says whether a claim on it was alive. */
  cancel(table: TableName, id: string): SqlWork;
  /** Deletes one page of rows in this state; one record with `deleted`. Repeated until a page is not full. */
  purgePage(
    table: TableName,
    state: EndState,
    olderThan: PurgeCut,
    pageSize: number,
    topic?: string,
  ): SqlWork;
}

/** The locks of jobs, by the database's clock. A record means: it is yours. */
export interface LockStatements {
  take(table: TableName, name: string, token: string, ttlMs: number): SqlWork;
  renew(table: TableName, name: string, token: string, ttlMs: number): SqlWork;
  release(table: TableName, name: string, token: string): SqlStatement;
}

/** What consumers have processed. */
export interface ProcessedStatements {
  /** A record means: it was not there. Waits for a transaction that stores the same and has not ended. */
  remember(table: TableName, consumer: string, rowId: string): SqlWork;
  /** Deletes one page; one record with `deleted`. */
  purgePage(table: TableName, ageMs: number, pageSize: number): SqlWork;
}

/** The tables: how they are made, and what they lack. */
export interface SchemaStatements {
  /** Names the version. */
  readonly title: string;
  /** Each does nothing when its work is done already. */
  create(table: TableName): readonly string[];
  /** Whether the tables are ours, and what they lack, read from the catalog. */
  compare(table: TableName): SqlSteps<Comparison>;
  /** Whether all changes of an adoption are undone when one fails. */
  readonly isAtomic: boolean;
  /** Instances that start at once take turns: held until the transaction ends, or until `unlock`. */
  lock(table: TableName): SqlStatement;
  unlock?(table: TableName): SqlStatement;
}

export interface Comparison {
  /** Set where a table of one of our names is not ours: then nothing may be changed without being asked. */
  readonly foreign?: ForeignTable;
  readonly differences: readonly Difference[];
}

/** A table that has one of our names and is not ours. */
export interface ForeignTable {
  readonly problem: string;
  /** What keeps it from being adopted, each with its cure. */
  readonly obstacles: readonly string[];
  /** The statements that make it ours: no row is pending afterwards, and the mark comes last. */
  readonly adoption: readonly string[];
  /** Undoes what the adoption set for its session. */
  readonly restore?: readonly string[];
}

/** A difference between the tables and what the store needs, with the statements that fix it. */
export interface Difference {
  readonly level: 'required' | 'tuning';
  readonly problem: string;
  readonly statements: readonly string[];
  /** `ensure` leaves it to a person, since only a person can decide it. */
  readonly isByHand?: boolean;
}

export interface LongTransactionStatements {
  find(olderThanMs: number): SqlStatement;
  problemOf(record: SqlRecord): SchemaProblem;
}

/** Who holds the lock of keyed claims. */
export interface KeyedLockStatements {
  /** A record each with `holder`, and `held_ms` where the age of its transaction is known. */
  holders(table: TableName): SqlStatement;
  problemOf(holder: SqlRecord, table: TableName): SchemaProblem;
}

/** Where the tables are, and in which database. */
export interface SqlTableOptions extends TableOptions {
  /** Default: PostgreSQL. */
  readonly dialect?: SqlDialect;
}
