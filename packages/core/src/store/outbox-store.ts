import { EnqueuePipeline } from '../enqueue/enqueue-pipeline.js';
import type { NewRow } from '../enqueue/new-row.js';
import type { DeadReason } from '../message/dead-reason.js';
import { errorText } from '../message/error-text.js';
import { OutboxError } from '../message/errors.js';
import { assertKnownOptions, type OptionNames } from '../message/known-options.js';
import type {
  OutboxBacklog,
  OutboxCounts,
  OutboxEntry,
  OutboxRow,
  RowFilter,
} from '../message/outbox-row.js';
import type { Outcome } from '../message/outcome.js';
import type { RetryOptions } from '../message/retry-options.js';
import { assertRetryOptions, boundedDelayMs } from '../message/retry-policy.js';
import type { PeekOptions } from '../message/row-filter.js';
import { nameToken } from '../modules/token.js';

export interface OutboxStoreOptions {
  /** How long a claim lives unless it is extended. Default 5 minutes: the longest wait after a crash. */
  readonly claimTimeoutMs?: number;
  /** Default: a pipeline with no schemas and no interceptors. `OutboxModule` hands in the configured one. */
  readonly pipeline?: EnqueuePipeline;
}

/** What a purge deletes: what ended before a time or is of an age by the database's clock, or all but the latest. */
export type PurgeCut = Date | { readonly ageMs: number } | { readonly keepLatest: number };

/**
 * What `cancel` did. Both texts are truthy: `if (await store.cancel(id))` asks whether the row is cancelled.
 *
 * - `'cancelled'`: no claim on the row was alive, so no dispatcher starts to publish it.
 * - `'may-still-be-published'`: cancelled as well, but a dispatcher holds the row in a batch. It may be publishing it, or
 *   start to until it next extends its claims. Whatever comes of it, the row stays `dead: cancelled`.
 * - `false`: nothing changed. The row is dispatched or dead, or there is none.
 */
export type CancelResult = 'cancelled' | 'may-still-be-published' | false;

/** How a row is requeued. */
export interface RequeueOptions {
  /** A new retry policy for the row. What is left out stays as the row has it. @default the row's own */
  readonly retry?: RetryOptions | undefined;
}

const DEFAULT_CLAIM_TIMEOUT_MS = 5 * 60_000;

/**
 * Where rows live. A claim is the right to publish a row for a while: `fetchPending` takes it under a new token,
 * and every write under that token changes only rows that still carry it.
 */
export abstract class OutboxStore {
  static {
    nameToken(this, '@postcommit/core/OutboxStore');
  }

  readonly claimTimeoutMs: number;
  protected readonly pipeline: EnqueuePipeline;
  readonly #enqueueListeners = new Set<() => void>();
  readonly #problemListeners = new Set<(error: unknown) => void>();

  constructor(options: OutboxStoreOptions = {}) {
    this.claimTimeoutMs = options.claimTimeoutMs ?? DEFAULT_CLAIM_TIMEOUT_MS;
    // A longer one does not fit a timer, which would then fire at once.
    if (
      !(Number.isFinite(this.claimTimeoutMs) && this.claimTimeoutMs >= 1 && this.claimTimeoutMs < 2 ** 31)
    ) {
      throw new OutboxError(
        'INVALID_CONFIG',
        `claimTimeoutMs must be at least 1 and below 2^31, got ${String(options.claimTimeoutMs)}`,
      );
    }
    this.pipeline = options.pipeline ?? new EnqueuePipeline();
  }

  /** Stores entries on their own, in a transaction that belongs to nobody else: all or none. Gives their ids. */
  async enqueue(entries: OutboxEntry | readonly OutboxEntry[]): Promise<string[]> {
    const ids = await this.pipeline.run(entries, (rows) => this.insert(rows));
    this.announce(ids);
    return ids;
  }

  /**
   * Calls back after entries were handed to this very store: a hint that rows may be due soon, or that a transaction
   * is about to commit them. Gives the way to stop it.
   */
  onEnqueue(listener: () => void): () => void {
    this.#enqueueListeners.add(listener);
    return () => {
      this.#enqueueListeners.delete(listener);
    };
  }

  /**
   * Registers a listener for problems that no call reports: an idle connection that was lost, a lock that somebody else
   * holds. Returns an unsubscribe function.
   */
  onProblem(listener: (error: unknown) => void): () => void {
    this.#problemListeners.add(listener);
    return () => {
      this.#problemListeners.delete(listener);
    };
  }

  /**
   * Claims due rows, oldest first; all carry the same `claimToken`. A row whose claim expired comes alone, with
   * `retakes` one higher. Rows of one key come in order, and only while no other claim on the key lives. Fewer rows than
   * `limit`, none of them retaken or with a key, are all that is due: a worker pauses then.
   */
  abstract fetchPending(limit: number): Promise<OutboxRow[]>;

  /**
   * Ends claims. Gives the ids that were still ours; the missing ones were fenced and did not change. Repeating
   * a settle gives the same ids for rows that are dispatched or dead. Without a token it is an operator's step
   * on pending rows, whoever holds them.
   */
  abstract settle(claimToken: string | undefined, outcomes: readonly Outcome[]): Promise<string[]>;

  /** Lets claims live for another `claimTimeoutMs`. Gives the ids that were still ours. */
  abstract extendClaim(claimToken: string, ids: readonly string[]): Promise<string[]>;

  markDispatched(ids: readonly string[], claimToken?: string): Promise<string[]> {
    return this.settle(
      claimToken,
      ids.map((id) => ({ id, kind: 'dispatched' })),
    );
  }

  /** Counts an attempt and ends the claim; due again after `delayMs`, by default at once. */
  async markFailed(
    id: string,
    error: string,
    options: { claimToken?: string; delayMs?: number } = {},
  ): Promise<boolean> {
    assertKnownOptions('markFailed', options, { claimToken: true, delayMs: true }, 'INVALID_ARGUMENT');
    const delayMs = options.delayMs ?? 0;
    assertDelay(delayMs);
    const settled = await this.settle(options.claimToken, [
      { id, kind: 'failed', error: errorText(error), delayMs: boundedDelayMs(delayMs) },
    ]);
    return settled.length === 1;
  }

  async markDead(
    id: string,
    error: string,
    options: { claimToken?: string; reason?: DeadReason } = {},
  ): Promise<boolean> {
    assertKnownOptions('markDead', options, { claimToken: true, reason: true }, 'INVALID_ARGUMENT');
    const reason = options.reason ?? 'exhausted';
    const settled = await this.settle(options.claimToken, [
      { id, kind: 'dead', error: errorText(error), reason },
    ]);
    return settled.length === 1;
  }

  /** Gives claims back; no attempt is counted. */
  release(ids: readonly string[], claimToken: string): Promise<string[]> {
    return this.settle(
      claimToken,
      ids.map((id) => ({ id, kind: 'released' })),
    );
  }

  /**
   * Counts rows by state: all of them, or those that match. Reads as much as there is: for people and reports, not for a
   * loop.
   */
  abstract count(filter?: RowFilter): Promise<OutboxCounts>;

  /** What waits, counted up to `atMost`: cheap enough to ask again and again. */
  abstract backlog(atMost?: number): Promise<OutboxBacklog>;

  /**
   * Lists rows without claiming them. Pending rows come in the order they fall due; dispatched and dead rows with the
   * latest to end first; rows of all states by the time they ended or fall due, latest first. Rows that ended at the same
   * moment come in any order where the limit cuts between them.
   */
  abstract peek(filter: RowFilter, limit: number, options?: PeekOptions): Promise<OutboxRow[]>;

  /**
   * Makes a row pending and due, with its attempts forgotten and any claim on it void; with `retry`, under a new policy.
   * A dispatched or dead row goes to the tail of its key.
   *
   * @throws `ROW_NOT_FOUND` for an unknown id, `INVALID_RETRY_POLICY` for a policy that makes no sense.
   */
  abstract requeue(id: string, options?: RequeueOptions): Promise<void>;

  /**
   * Requeues at most `limit` rows, those that died first before others; dead ones unless the filter names a state.
   * Cancelled ones are left alone, unless the filter asks for that reason. Rows requeued by one call keep the order of
   * their key. Returns how many.
   *
   * @throws `INVALID_RETRY_POLICY` for a policy that makes no sense.
   */
  abstract requeueWhere(filter: RowFilter, limit: number, options?: RequeueOptions): Promise<number>;

  /** Deletes dead rows for good; others stay. Gives how many. */
  abstract discard(ids: readonly string[]): Promise<number>;

  /**
   * Makes a pending row `dead: cancelled` and voids a claim on it. Returns whether it did, and whether somebody who holds
   * the row may still publish it.
   */
  abstract cancel(id: string): Promise<CancelResult>;

  /**
   * Deletes dispatched rows that are older, page by page; of one topic, if it is named. `keepLatest` leaves exactly so
   * many, the first ones in the order of `peek`. Returns how many were deleted.
   */
  abstract purgeDispatched(olderThan: PurgeCut, filter?: Pick<RowFilter, 'topic'>): Promise<number>;

  /** Deletes dead rows that died longer ago, likewise. Nothing calls it unless an age for dead rows is configured. */
  abstract purgeDead(olderThan: PurgeCut, filter?: Pick<RowFilter, 'topic'>): Promise<number>;

  /** Writes checked rows, all or none; a duplicate id is `DUPLICATE_ID`. */
  protected abstract insert(rows: readonly NewRow[]): Promise<void>;

  protected announce(ids: readonly string[]): void {
    if (ids.length > 0) for (const listener of this.#enqueueListeners) listener();
  }

  /** For stores: reports a problem to the listeners, or as a process warning where there is none. */
  protected reportProblem(error: unknown): void {
    if (this.#problemListeners.size === 0) process.emitWarning(errorText(error), 'OutboxWarning');
    for (const listener of this.#problemListeners) listener(error);
  }

  /** Whether somebody in this process waits for what is enqueued here. */
  protected get hasEnqueueListeners(): boolean {
    return this.#enqueueListeners.size > 0;
  }
}

/** A store that writes inside the caller's own transaction: the message exists if and only if that commits. */
export abstract class TransactionalOutboxStore<Tx> extends OutboxStore {
  static {
    nameToken(this, '@postcommit/core/TransactionalOutboxStore');
  }

  /** Refuses a handle that is not an open transaction. Gives the ids of the entries, in order. */
  async enqueueWith(tx: Tx, entries: OutboxEntry | readonly OutboxEntry[]): Promise<string[]> {
    if (tx === undefined || tx === null) throw notATransaction(`enqueueWith was given ${tx}`);
    this.assertTransaction(tx);
    const ids = await this.pipeline.run(entries, (rows) => this.insert(rows, tx));
    this.announce(ids);
    return ids;
  }

  /**
   * Throws `notATransaction` when the handle would write outside a transaction, as far as it shows without a
   * round trip: that write is the bug this library exists to prevent.
   */
  protected abstract assertTransaction(tx: Tx): void;

  protected abstract override insert(rows: readonly NewRow[], tx?: Tx): Promise<void>;
}

/** The error of `assertTransaction`: what was handed in, then what to do. */
export function notATransaction(problem: string): OutboxError {
  return new OutboxError(
    'INVALID_TRANSACTION',
    `${problem}; pass the handle of your open transaction, or call enqueue() to store the entries on their own`,
  );
}

function assertDelay(delayMs: number): void {
  if (Number.isFinite(delayMs) && delayMs >= 0) return;
  throw new OutboxError('INVALID_ARGUMENT', `delayMs must be 0 or more, got ${String(delayMs)}`);
}

/** For stores: refuses a bad argument of `purgeDispatched` or `purgeDead`, before anything is sent. */
export function assertOlderThan(olderThan: PurgeCut): void {
  if (isPurgeCut(olderThan)) return;
  throw new OutboxError(
    'INVALID_ARGUMENT',
    'olderThan must be a valid Date, { ageMs } of 0 or more, or { keepLatest }, a whole number from 0',
  );
}

function isPurgeCut(cut: PurgeCut): boolean {
  if (cut instanceof Date) return !Number.isNaN(cut.getTime());
  if (typeof cut !== 'object' || cut === null) return false;
  if ('keepLatest' in cut) return Number.isSafeInteger(cut.keepLatest) && cut.keepLatest >= 0;
  return cut.ageMs >= 0 && Number.isFinite(cut.ageMs);
}

/** For stores: refuses a bad limit, before anything is sent. */
export function assertLimit(limit: number): void {
  if (Number.isInteger(limit) && limit >= 1) return;
  throw new OutboxError('INVALID_ARGUMENT', `limit must be a whole number from 1, got ${String(limit)}`);
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

/** For stores: refuses a filter with a name that means nothing, which would otherwise mean "all rows". */
export function assertFilter(filter: RowFilter): void {
  if (typeof filter !== 'object' || filter === null)
    throw new OutboxError('INVALID_ARGUMENT', `filter must be an object, got ${String(filter)}`);
  assertKnownOptions('filter', filter, FILTER_NAMES, 'INVALID_ARGUMENT');
}

/** For stores: the same for a purge, which can be narrowed to a topic and to nothing else. */
export function assertPurgeFilter(filter: Pick<RowFilter, 'topic'>): void {
  assertKnownOptions('filter', filter, { topic: true }, 'INVALID_ARGUMENT');
}

const REQUEUE_NAMES: OptionNames<RequeueOptions> = { retry: true };

/** For stores: refuses bad options of `requeue` or `requeueWhere`, before anything is sent. */
export function assertRequeueOptions(options: RequeueOptions): void {
  assertKnownOptions('requeue', options, REQUEUE_NAMES, 'INVALID_ARGUMENT');
  if (options.retry !== undefined) assertRetryOptions(options.retry, 'requeue');
}
