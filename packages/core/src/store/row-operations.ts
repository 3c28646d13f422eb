import type { EnqueuePipeline } from '../enqueue/enqueue-pipeline.js';
import { countDead, type DeadCount } from '../message/dead-count.js';
import { OutboxError } from '../message/errors.js';
import { assertKnownOptions, type OptionNames } from '../message/known-options.js';
import { assertWholeNumber } from '../message/option-checks.js';
import type { OutboxBacklog, OutboxCounts, OutboxRow, RowFilter } from '../message/outbox-row.js';
import type { RetryOptions } from '../message/retry-options.js';
import { assertRetryOptions } from '../message/retry-policy.js';
import type { PeekOptions } from '../message/row-filter.js';

/**
 * Which rows a purge deletes: those that ended before a date, those older than `ageMs` by the database's clock, or all
 * but the latest `keepLatest`.
 */
export type PurgeCut = Date | { readonly ageMs: number } | { readonly keepLatest: number };

/**
 * What `cancel` did. Both strings are truthy: `if (await store.cancel(id))` tests whether the row is cancelled.
 *
 * - `'cancelled'`: nobody held a claim on the row, so no dispatcher will publish it.
 * - `'may-still-be-published'`: cancelled, but a dispatcher holds the row in a batch. It may be publishing the row, or may
 *   start to before it next extends its claims. Either way, the row stays `dead: cancelled`.
 * - `false`: nothing changed. The row is dispatched or dead, or does not exist.
 */
export type CancelResult = 'cancelled' | 'may-still-be-published' | false;

export interface RequeueOptions {
  /** A new retry policy for the row. Fields left out keep the row's values. @default the row's own */
  readonly retry?: RetryOptions | undefined;
}

/** What operators and reports do with rows, whoever holds a claim on them. */
export abstract class RowOperations {
  /**
   * Counts rows by state. Reads every matching row, so it is meant for people and reports, not for a loop.
   */
  abstract count(filter?: RowFilter): Promise<OutboxCounts>;

  /**
   * Counts dead rows by topic and reason: at most `limit` of these pairs, the most frequent first. Reads every dead row.
   * Override it if the store can count; otherwise, only the 1,000 rows that died last are counted.
   */
  async countDead(limit: number): Promise<DeadCount[]> {
    assertWholeNumber('limit', limit, { code: 'INVALID_ARGUMENT' });
    return countDead(await this.peek({ state: 'dead' }, 1_000), limit);
  }

  /** Counts waiting rows, up to `atMost`. Cheap enough to call often. */
  abstract backlog(atMost?: number): Promise<OutboxBacklog>;

  /**
   * Lists rows without claiming them. By default, pending rows are listed in the order they fall due, dispatched and
   * dead rows latest first. Without a state, all rows are listed by the time they ended or fall due, latest first. If
   * the limit cuts between rows that ended at the same time, which of them are listed is undefined.
   */
  abstract peek(filter: RowFilter, limit: number, options?: PeekOptions): Promise<OutboxRow[]>;

  /**
   * Makes a row pending and due, resets its attempts and voids any claim on it. With `retry`, it gets a new policy. A
   * dispatched or dead row moves to the end of its key.
   *
   * @throws `ROW_NOT_FOUND` for an unknown id, `INVALID_RETRY_POLICY` for an invalid policy.
   */
  abstract requeue(id: string, options?: RequeueOptions): Promise<void>;

  /**
   * Requeues at most `limit` rows, those that died first before others. Selects dead rows unless the filter names a
   * state, and leaves out cancelled rows unless the filter names a reason. Rows requeued by one call keep their order
   * within a key. Returns the number of rows.
   *
   * @throws `INVALID_RETRY_POLICY` for an invalid policy.
   */
  abstract requeueWhere(filter: RowFilter, limit: number, options?: RequeueOptions): Promise<number>;

  /** Deletes dead rows permanently and ignores the others. Returns the number of deleted rows. */
  abstract discard(ids: readonly string[]): Promise<number>;

  /**
   * Makes a pending row `dead: cancelled` and voids any claim on it. Returns whether it did, and whether the holder of
   * the claim may still publish the row.
   */
  abstract cancel(id: string): Promise<CancelResult>;

  /**
   * Deletes dispatched rows older than `olderThan`, page by page; with a topic, only rows of that topic. `keepLatest`
   * keeps exactly that many rows, the first ones in the order of `peek`. Returns the number of deleted rows.
   */
  abstract purgeDispatched(olderThan: PurgeCut, filter?: Pick<RowFilter, 'topic'>): Promise<number>;

  /** Deletes dead rows in the same way. The retention module calls it only if an age for dead rows is configured. */
  abstract purgeDead(olderThan: PurgeCut, filter?: Pick<RowFilter, 'topic'>): Promise<number>;
}

const FILTER_NAMES: OptionNames<RowFilter> = {
  id: true,
  state: true,
  topic: true,
  key: true,
  error: true,
  reason: true,
  exceptCancelled: true,
  createdAfter: true,
  createdBefore: true,
  deadAfter: true,
  deadBefore: true,
};

/** For stores: throws `INVALID_ARGUMENT` for an unknown filter name, which would otherwise mean "all rows". */
export function assertFilter(filter: RowFilter): void {
  if (typeof filter !== 'object' || filter === null)
    throw new OutboxError('INVALID_ARGUMENT', `filter must be an object, got ${String(filter)}`);
  assertKnownOptions('filter', filter, FILTER_NAMES, 'INVALID_ARGUMENT');
}

/** For stores: throws `INVALID_ARGUMENT` for an unknown filter name; a purge can be narrowed only to a topic. */
export function assertPurgeFilter(filter: Pick<RowFilter, 'topic'>): void {
  assertKnownOptions('filter', filter, { topic: true }, 'INVALID_ARGUMENT');
}

const REQUEUE_NAMES: OptionNames<RequeueOptions> = { retry: true };

/**
 * For stores: throws `INVALID_ARGUMENT` or `INVALID_RETRY_POLICY` for invalid options of `requeue` or `requeueWhere`. Pass
 * the pipeline of the store, which knows the names of backoff strategies.
 */
export function assertRequeueOptions(
  options: RequeueOptions,
  { backoffStrategies }: Pick<EnqueuePipeline, 'backoffStrategies'>,
): void {
  assertKnownOptions('requeue', options, REQUEUE_NAMES, 'INVALID_ARGUMENT');
  if (options.retry !== undefined) assertRetryOptions(options.retry, 'requeue', backoffStrategies);
}
