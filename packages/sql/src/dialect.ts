import type { NewRow, OutboxState, Outcome, RowFilter } from '@postcommit/core';
import type { SqlStatement } from './sql-statement.js';
import type { TableName } from './table-name.js';

/** Who claims, and for how long. */
export interface Claim {
  readonly token: string;
  readonly timeoutMs: number;
  readonly limit: number;
  /** False when the batch has rows already: a retaken row must come alone. */
  readonly mayRetake: boolean;
}

/** Where the search for free keys goes on: everything before was looked at and is blocked. */
export interface KeyCursor {
  /** Microseconds since 1970 as text: the same for every session, whatever its zone and date style. */
  readonly availableAt: string;
  readonly seq: string;
}

export interface KeyedClaim extends Claim {
  /** Due rows looked at, at the most: the cost follows the batch, not the backlog. */
  readonly window: number;
  /** Rows of one key, at the most. */
  readonly perKey: number;
  readonly after: KeyCursor | undefined;
}

/** The states that rows stay in until they are deleted. */
export type EndState = Exclude<OutboxState, 'pending'>;

/** The outcomes that need more than an id. */
export type UnpublishedOutcome = Exclude<Outcome, { kind: 'dispatched' }>;

/** What a database must say, each as statements; it runs nothing. `postgres/` says it. */
export interface SqlDialect {
  readonly name: string;
  insert(table: TableName, rows: readonly NewRow[]): SqlStatement;
  /**
   * Only where the database can tell other processes that rows were enqueued: the statement that tells them, or
   * `insert` with that added, so that it takes no further round trip and comes true only with the caller's commit.
   */
  notify?(table: TableName, insert?: SqlStatement): SqlStatement;
  /** One of these ids that is stored already. */
  findExisting(table: TableName, ids: readonly string[]): SqlStatement;
  /**
   * Claims due rows without a key, in one round trip. Each record has `keyed_due`, whether rows with a key are
   * due; a record without `id` carries only that.
   */
  claimUnkeyed(table: TableName, claim: Claim): SqlStatement;
  /**
   * Claims rows with a key: first a lock, then the claim, in one transaction. Each record has `window_rows`,
   * `last_available_at` and `last_seq`; a record without `id` carries only these.
   */
  claimKeyed(table: TableName, claim: KeyedClaim): readonly SqlStatement[];
  /** Voids a claim whose result is unknown. */
  releaseToken(table: TableName, token: string): SqlStatement;
  settleDispatched(table: TableName, token: string | undefined, ids: readonly string[]): SqlStatement;
  settleUnpublished(
    table: TableName,
    token: string | undefined,
    outcomes: readonly UnpublishedOutcome[],
  ): SqlStatement;
  /** Of these outcomes, those that an earlier settle under the same token recorded. */
  findReceipts(table: TableName, token: string, outcomes: readonly Outcome[]): SqlStatement;
  extendClaim(table: TableName, token: string, ids: readonly string[], timeoutMs: number): SqlStatement;
  count(table: TableName): SqlStatement;
  /** One record with `pending` and `due`, counted up to `atMost` where given, and `oldest_age_ms`. */
  backlog(table: TableName, atMost: number | undefined): SqlStatement;
  peek(table: TableName, filter: RowFilter, limit: number): SqlStatement;
  requeue(table: TableName, id: string): SqlStatement;
  requeueWhere(table: TableName, filter: RowFilter, limit: number): SqlStatement;
  discard(table: TableName, ids: readonly string[]): SqlStatement;
  cancel(table: TableName, id: string): SqlStatement;
  /** Deletes one page of rows in this state; the store repeats it until a page is not full. */
  purgePage(
    table: TableName,
    state: EndState,
    olderThan: Date | { readonly ageMs: number },
    pageSize: number,
    topic?: string,
  ): SqlStatement;
}
