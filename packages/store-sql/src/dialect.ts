import type {
  NewRow,
  OutboxState,
  Outcome,
  PurgeCut,
  RetryOptions,
  RowFilter,
  SchemaProblem,
} from '@postcommit/core';
import type { RowOrder } from '@postcommit/core/internal';
import type {
  LockStatements,
  LongTransactionStatements,
  PauseStatements,
  ProcessedStatements,
  SchemaStatements,
  WorkerStatements,
} from './capability-statements.js';
import type { SqlRecord, SqlStatement, SqlSteps, SqlWork } from './sql-statement.js';
import type { NameQuote, TableName, TableOptions } from './table-name.js';

/** A place in the order in which rows fall due. */
export interface DuePlace {
  /** Microseconds since 1970 as text: independent of session and time zone, and not rounded by a driver. */
  readonly availableAt: string;
  readonly seq: string;
}

/** Who claims, and for how long. */
export interface Claim {
  readonly token: string;
  readonly timeoutMs: number;
  readonly limit: number;
  /** False when the batch already has rows: a retaken row must be claimed alone. */
  readonly mayRetake: boolean;
  /** Rows of these topics are left out. Never empty; absent if no topic is left out. */
  readonly exceptTopics?: readonly string[];
}

/** A claim of rows without a key that leaves out topics. */
export interface ExceptClaim extends Claim {
  readonly exceptTopics: readonly string[];
  /** Maximum number of due rows examined: any number of rows may be left out. */
  readonly window: number;
  /** Only rows behind this place. */
  readonly after: DuePlace | undefined;
}

export interface UnkeyedClaim extends Claim {
  /** Only rows behind this place, and none with an expired claim: those are found from the front. */
  readonly after: DuePlace | undefined;
  /** Whether `after` is the end of a full batch. If this batch is not full, another search follows in the same claim. */
  readonly isBacklog: boolean;
}

export interface KeyedClaim extends Claim {
  /** Maximum number of due rows examined, so that the cost depends on the batch, not on the backlog. */
  readonly window: number;
  /** Maximum rows of one key. */
  readonly perKey: number;
  /** Only rows behind this place: those before it were examined and are blocked. */
  readonly after: DuePlace | undefined;
  /** Keys to look up besides those of the window, each once: their rows may be before `after`. */
  readonly parked: readonly string[];
  /** How long to wait for other keyed claims, as far as the database supports it, before throwing `KeyedLockTimeout`. */
  readonly lockWaitMs: number;
  /** After how long the server ends the statement that claims, where a statement of its own can say so. */
  readonly serverMs: number;
}

/** Thrown when the lock of keyed claims does not become free in time. */
export class KeyedLockTimeout extends Error {
  override readonly name = 'KeyedLockTimeout';

  constructor(cause: unknown) {
    super('the lock of keyed claims is held by another session', { cause });
  }
}

/** A claim on a row with a key can be extended only with this much time left: more than it takes to commit. */
export function extendBeforeMs(timeoutMs: number): number {
  return Math.min(1_000, timeoutMs / 10);
}

/** The states in which rows stay until they are deleted. */
export type EndState = Exclude<OutboxState, 'pending'>;

/** A filter that names a state. */
export type StateFilter = RowFilter & { readonly state: OutboxState };

/** The outcomes that need more than an id. */
export type UnpublishedOutcome = Exclude<Outcome, { kind: 'dispatched' }>;

/** A database error that the outbox handles. */
export type DatabaseFault = 'duplicate' | 'no table' | 'no column' | 'no index' | 'too slow';

/** Everything that is specific to a database, as statements; a dialect runs nothing itself. */
export interface SqlDialect {
  readonly name: string;
  /** Statements that open a transaction in which each statement sees everything committed before it. */
  readonly begin: readonly string[];
  /** Quotes identifiers. */
  readonly quote: NameQuote;
  readonly locks: LockStatements;
  readonly processed: ProcessedStatements;
  readonly workers: WorkerStatements;
  readonly pauses: PauseStatements;
  readonly schema: SchemaStatements;
  /** Only if open transactions slow the outbox down and the database can list them. */
  readonly longTransactions?: LongTransactionStatements;
  /** Only if anyone but the outbox can hold the lock of keyed claims and the database can name the holder. */
  readonly keyedLock?: KeyedLockStatements;
  faultOf(error: unknown): DatabaseFault | undefined;
  /** Returns the statement with a limit that the server enforces; only if the text of a statement can have one. */
  limit?(statement: SqlStatement, ms: number): SqlStatement;
  /** One statement for any number of rows; `seq` follows the order of the list. */
  insert(table: TableName, rows: readonly NewRow[]): SqlStatement;
  /** Only if the database can notify other processes that rows were enqueued. */
  readonly hints?: HintStatements;
  /** Finds one of these ids that is already stored. */
  findExisting(table: TableName, ids: readonly string[]): SqlStatement;
  /**
   * Claims due rows without a key. The first record has `keyed_due`, whether rows with a key are due; a record without
   * `id` carries nothing else. There is always a first record, except when `isBacklog` is set.
   */
  claimUnkeyed(table: TableName, claim: UnkeyedClaim): SqlWork;
  /**
   * Claims due rows without a key of all topics but some. A statement of its own, so that leaving out nothing costs
   * nothing. The first record has `keyed_due`, and `window_rows`, `last_available_at` and `last_seq` of the window.
   */
  claimUnkeyedExcept(table: TableName, claim: ExceptClaim): SqlWork;
  /**
   * Claims rows with a key: takes a lock, then claims, in one transaction. The first record has `window_rows`, which
   * counts rows that are left out too. A record without `id` carries nothing else, but only such a record has
   * `last_available_at` and `last_seq`, and the JSON arrays `blocked_keys` and `empty_keys`. If the window is full, the
   * former has its keys and all that are claimed. The latter has the parked keys without a pending row.
   *
   * @throws KeyedLockTimeout if the lock takes longer than `lockWaitMs`.
   */
  claimKeyed(table: TableName, claim: KeyedClaim): () => SqlSteps;
  /**
   * One record with `key` for each key behind `after` that has a pending row, in the order of the keys: at most `limit`,
   * and none only at the end. The cost does not depend on how many rows a key has.
   */
  pendingKeys(table: TableName, after: string | undefined, limit: number): SqlWork;
  /** Voids a claim whose result is unknown. */
  releaseToken(table: TableName, token: string): SqlWork;
  settleDispatched(table: TableName, token: string | undefined, ids: readonly string[]): SqlWork;
  settleUnpublished(
    table: TableName,
    token: string | undefined,
    outcomes: readonly UnpublishedOutcome[],
  ): SqlWork;
  /** Finds those of the outcomes that an earlier settle under the same token recorded. */
  findReceipts(table: TableName, token: string, outcomes: readonly Outcome[]): SqlStatement;
  extendClaim(table: TableName, token: string, ids: readonly string[], timeoutMs: number): SqlWork;
  /** One record with the number of rows in each state. */
  count(table: TableName, filter?: RowFilter): SqlStatement;
  /** A record with `topic`, `reason` and `dead` for each pair, the most frequent first. */
  countDead(table: TableName, limit: number): SqlStatement;
  /** One record with `pending` and `due`, counted up to `atMost` if given, and `oldest_age_ms`. */
  backlog(table: TableName, atMost: number | undefined): SqlStatement;
  /**
   * Records with `topic`, a paused one, and one with `now_ms`, the time since 1970, and `in_ms`, the time until the next row
   * falls due, or null.
   */
  lookAhead(table: TableName): SqlStatement;
  /** Reads at most `limit` matching rows of each state, in index order. */
  peek(table: TableName, filter: RowFilter, limit: number, order?: RowOrder): SqlStatement;
  requeue(table: TableName, id: string, retry?: RetryOptions): SqlWork;
  /** Requeues rows of the one state that the filter names, oldest first. */
  requeueWhere(table: TableName, filter: StateFilter, limit: number, retry?: RetryOptions): SqlWork;
  discard(table: TableName, ids: readonly string[]): SqlWork;
  /** Returns a record if the row was pending. `was_claimed` says whether it had a live claim. */
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

/** How enqueues wake workers in other processes. */
export interface HintStatements {
  /**
   * Adds a notification to an insert, in one statement: no extra round trip, and it is sent when the caller commits. Its
   * record has `notified`, which is null if it does not notify, because too many open transactions do.
   */
  insertAndNotify(table: TableName, insert: SqlStatement): SqlStatement;
  /** Announces all enqueues that did not notify. */
  notify(table: TableName): SqlStatement;
}

/** Finds who holds the lock of keyed claims. */
export interface KeyedLockStatements {
  /** One record per holder, with `holder`, and `held_ms` if the age of its transaction is known. */
  holders(table: TableName): SqlStatement;
  problemOf(holder: SqlRecord, table: TableName): SchemaProblem;
}

/** Which tables to use, in which kind of database. */
export interface SqlTableOptions extends TableOptions {
  /** @default postgres */
  readonly dialect?: SqlDialect;
}
