import { EnqueuePipeline } from '../enqueue/enqueue-pipeline.js';
import type { NewRow } from '../enqueue/new-row.js';
import type { DeadReason } from '../message/dead-reason.js';
import { errorText } from '../message/error-text.js';
import { OutboxError } from '../message/errors.js';
import { assertKnownOptions, type OptionNames } from '../message/known-options.js';
import { assertTimerDelay, assertWholeNumber } from '../message/option-checks.js';
import type { OutboxEntry, OutboxRow } from '../message/outbox-row.js';
import type { Outcome } from '../message/outcome.js';
import { boundedDelayMs } from '../message/retry-policy.js';
import { nameToken } from '../modules/token.js';
import { DEFAULT_CLAIM_TIMEOUT_MS } from '../runtime/claim-timing.js';
import type { ClaimOptions } from './claim-options.js';
import type { LookAhead } from './look-ahead.js';
import { type PurgeCut, RowOperations } from './row-operations.js';

export interface OutboxStoreOptions {
  /**
   * How long a claim lasts unless it is extended; rows of a crashed process wait this long.
   *
   * @default 300_000
   */
  readonly claimTimeoutMs?: number;
  /** `OutboxModule` passes the configured one. @default a pipeline without schemas and interceptors */
  readonly pipeline?: EnqueuePipeline;
}

/**
 * Stores rows and hands out claims. A claim is the right to publish a row for `claimTimeoutMs`: `fetchPending` takes it
 * under a new token, and writes under that token change only rows that still carry it.
 */
export abstract class OutboxStore extends RowOperations {
  static {
    nameToken(this, '@postcommit/core/OutboxStore');
  }

  readonly claimTimeoutMs: number;
  protected readonly pipeline: EnqueuePipeline;
  readonly #enqueueListeners = new Set<() => void>();
  readonly #problemListeners = new Set<(error: unknown) => void>();

  constructor(options: OutboxStoreOptions = {}) {
    super();
    this.claimTimeoutMs = options.claimTimeoutMs ?? DEFAULT_CLAIM_TIMEOUT_MS;
    assertTimerDelay('claimTimeoutMs', this.claimTimeoutMs);
    this.pipeline = options.pipeline ?? new EnqueuePipeline();
  }

  /**
   * Stores entries in a transaction of their own: all or none. Returns their ids, in order.
   *
   * @throws `INVALID_ENTRY`, `INVALID_RETRY_POLICY`, `PAYLOAD_TOO_LARGE`, `SCHEMA_MISMATCH` or `DUPLICATE_ID`; nothing
   * is stored then.
   */
  async enqueue(entries: OutboxEntry | readonly OutboxEntry[]): Promise<string[]> {
    const ids = await this.pipeline.run(entries, (rows) => this.insert(rows));
    this.announce(ids);
    return ids;
  }

  /**
   * Registers a listener called after each enqueue through this store object. The transaction may not have committed
   * yet. Returns an unsubscribe function.
   */
  onEnqueue(listener: () => void): () => void {
    this.#enqueueListeners.add(listener);
    return () => {
      this.#enqueueListeners.delete(listener);
    };
  }

  /**
   * Registers a listener for problems that no call reports, such as a lost idle connection or a lock held by somebody
   * else. Returns an unsubscribe function.
   */
  onProblem(listener: (error: unknown) => void): () => void {
    this.#problemListeners.add(listener);
    return () => {
      this.#problemListeners.delete(listener);
    };
  }

  /**
   * Claims due rows, oldest first, all under the same `claimToken`. A row whose claim expired is returned alone, with
   * `retakes` increased by one. Rows with the same key are returned in order, and only while nobody else holds a claim
   * on the key. If it returns fewer rows than `limit`, none of them retaken or keyed, no other row is due.
   *
   * With `exceptTopics`, rows of these topics are left out, and so are the rows behind them with the same key.
   */
  abstract fetchPending(limit: number, options?: ClaimOptions): Promise<OutboxRow[]>;

  /**
   * Records outcomes and ends the claims. Returns the ids that were still ours; the others were fenced and did not
   * change. Idempotent: a repeated settle returns the same ids for rows that are dispatched or dead. Without a token it
   * applies to pending rows whoever holds them; this is for operators.
   */
  abstract settle(claimToken: string | undefined, outcomes: readonly Outcome[]): Promise<string[]>;

  /** Extends claims to `claimTimeoutMs` from now. Returns the ids that were still ours. */
  abstract extendClaim(claimToken: string, ids: readonly string[]): Promise<string[]>;

  /** Records that rows were published. Returns the ids that were still ours. */
  markDispatched(ids: readonly string[], claimToken?: string): Promise<string[]> {
    return this.settle(
      claimToken,
      ids.map((id) => ({ id, kind: 'dispatched' })),
    );
  }

  /** Counts a failed attempt and ends the claim. The row is due again after `delayMs`, by default at once. */
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

  /** Makes a row dead and ends its claim. Returns false if the row was no longer ours. */
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

  /** Releases claims without counting an attempt. Returns the ids that were still ours. */
  release(ids: readonly string[], claimToken: string): Promise<string[]> {
    return this.settle(
      claimToken,
      ids.map((id) => ({ id, kind: 'released' })),
    );
  }

  /**
   * Returns what a worker asks before it sleeps. The answer must be cheap. Override it if the store can answer;
   * otherwise the worker sleeps until its next poll, and no topic can be paused.
   */
  lookAhead(): Promise<LookAhead> {
    return Promise.resolve({ pausedTopics: [] });
  }

  /**
   * Writes validated rows: all or none.
   *
   * @throws `DUPLICATE_ID` when an id exists already.
   */
  protected abstract insert(rows: readonly NewRow[]): Promise<void>;

  /** For stores: calls the listeners of `onEnqueue`. */
  protected announce(ids: readonly string[]): void {
    if (ids.length > 0) for (const listener of this.#enqueueListeners) listener();
  }

  /** For stores: reports a problem to the listeners, or as a process warning if there are none. */
  protected reportProblem(error: unknown): void {
    if (this.#problemListeners.size === 0) process.emitWarning(errorText(error), 'OutboxWarning');
    for (const listener of this.#problemListeners) listener(error);
  }

  /** Whether `onEnqueue` has listeners, such as a worker in this process. */
  protected get hasEnqueueListeners(): boolean {
    return this.#enqueueListeners.size > 0;
  }
}

/**
 * A store that writes inside the caller's transaction: the message exists if, and only if, that transaction commits.
 */
export abstract class TransactionalOutboxStore<Tx> extends OutboxStore {
  static {
    nameToken(this, '@postcommit/core/TransactionalOutboxStore');
  }

  /**
   * Stores entries inside your transaction: they are published if, and only if, it commits. Returns their ids, in
   * order.
   *
   * @throws `INVALID_TRANSACTION` if the handle is not an open transaction; otherwise the same errors as `enqueue`.
   */
  async enqueueWith(tx: Tx, entries: OutboxEntry | readonly OutboxEntry[]): Promise<string[]> {
    if (tx === undefined || tx === null) throw notATransaction(`enqueueWith was given ${tx}`);
    this.assertTransaction(tx);
    const ids = await this.pipeline.run(entries, (rows) => this.insert(rows, tx));
    this.announce(ids);
    return ids;
  }

  /**
   * Throws `notATransaction` if the handle would write outside a transaction, as far as this can be seen without a
   * round trip. Such a write is the bug this library exists to prevent.
   */
  protected abstract assertTransaction(tx: Tx): void;

  protected abstract override insert(rows: readonly NewRow[], tx?: Tx): Promise<void>;
}

/** The error `assertTransaction` throws. `problem` says what was passed; the text adds what to pass instead. */
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

const CUT_NAMES = { ageMs: true, keepLatest: true } as const;

/** For stores: throws `INVALID_ARGUMENT` for an invalid argument of `purgeDispatched` or `purgeDead`. */
export function assertOlderThan(olderThan: PurgeCut): void {
  if (isPurgeCut(olderThan)) return;
  assertKnownOptions<object>('olderThan', olderThan, CUT_NAMES, 'INVALID_ARGUMENT');
  throw new OutboxError(
    'INVALID_ARGUMENT',
    'olderThan must be a valid Date, { ageMs } of 0 or more, or { keepLatest }, a whole number from 0',
  );
}

function isPurgeCut(cut: PurgeCut): boolean {
  if (cut instanceof Date) return !Number.isNaN(cut.getTime());
  if (typeof cut !== 'object' || cut === null || Object.keys(cut).length !== 1) return false;
  if ('keepLatest' in cut) return Number.isSafeInteger(cut.keepLatest) && cut.keepLatest >= 0;
  return cut.ageMs >= 0 && Number.isFinite(cut.ageMs);
}

/** For stores: throws `INVALID_ARGUMENT` for an invalid limit. */
export function assertLimit(limit: number): void {
  // Runs for every claim, so the check with the error text runs only if it fails.
  if (!(Number.isInteger(limit) && limit >= 1))
    assertWholeNumber('limit', limit, { code: 'INVALID_ARGUMENT' });
}

const CLAIM_NAMES: OptionNames<ClaimOptions> = { exceptTopics: true, token: true };

/** For stores: throws `INVALID_ARGUMENT` for an unknown option of `fetchPending`. */
export function assertClaimOptions(options: ClaimOptions): void {
  // As above.
  for (const name in options)
    if (!Object.hasOwn(CLAIM_NAMES, name))
      assertKnownOptions('fetchPending', options, CLAIM_NAMES, 'INVALID_ARGUMENT');
}
