import {
  assertLimit,
  assertOlderThan,
  assertRequeueOptions,
  attemptsOf,
  type CancelResult,
  createUuidv7,
  EnqueuePipeline,
  type NewRow,
  nameToken,
  notATransaction,
  type OutboxBacklog,
  type OutboxCounts,
  OutboxError,
  type OutboxRow,
  type OutboxStoreOptions,
  type Outcome,
  orderOf,
  type PeekOptions,
  type Random,
  type RequeueOptions,
  type RetryOptions,
  type RowFilter,
  type RowOrder,
  requeueFilter,
  stateOf,
  TransactionalOutboxStore,
} from '@postcommit/core';
import { claimable, isLive } from './claimable.js';
import { isPending, type MemoryRow, matches, toOutboxRow } from './memory-row.js';
import { MemoryTable } from './memory-table.js';
import { MemoryTransaction } from './memory-transaction.js';

export interface MemoryOutboxStoreOptions extends OutboxStoreOptions {
  /** Share one among several stores to try several dispatchers. Default: a table of its own, on the system's time. */
  readonly table?: MemoryTable;
  /** Makes ids and claim tokens repeatable: `seededRandom(1)`. */
  readonly random?: Random;
}

/**
 * Keeps rows in a Map: for tests, for single-process apps that may lose them, and to read how a store behaves.
 * Each method runs in one piece, which is what transactions are for in a database.
 */
export class MemoryOutboxStore extends TransactionalOutboxStore<MemoryTransaction> {
  static {
    nameToken(this, '@postcommit/store-memory/MemoryOutboxStore');
  }

  readonly #table: MemoryTable;
  readonly #newToken: () => string;

  constructor(options: MemoryOutboxStoreOptions = {}) {
    const table = options.table ?? new MemoryTable();
    const generateId = createUuidv7({
      now: () => table.now(),
      ...(options.random && { random: options.random }),
    });
    const pipeline = options.pipeline ?? new EnqueuePipeline();
    super({ ...options, pipeline: pipeline.withIds(generateId) });
    this.#table = table;
    this.#newToken = generateId;
  }

  /** A transaction that the caller ends with `commit` or `rollback`. */
  begin(): MemoryTransaction {
    return new MemoryTransaction(this.#table);
  }

  /** Commits when `work` resolves, rolls back when it rejects. */
  async transaction<T>(work: (tx: MemoryTransaction) => Promise<T>): Promise<T> {
    const tx = this.begin();
    try {
      const result = await work(tx);
      tx.commit();
      return result;
    } catch (error) {
      if (tx.isOpen) tx.rollback();
      throw error;
    }
  }

  async fetchPending(limit: number): Promise<OutboxRow[]> {
    assertLimit(limit);
    const nowMs = this.#table.now();
    const token = this.#newToken();
    const rows = claimable(this.#table.rows(), nowMs, limit);
    for (const row of rows) {
      if (row.claimToken !== undefined) row.retakes += 1;
      row.claimToken = token;
      row.claimedUntil = nowMs + this.claimTimeoutMs;
    }
    return rows.map(toOutboxRow);
  }

  async settle(claimToken: string | undefined, outcomes: readonly Outcome[]): Promise<string[]> {
    return outcomes.filter((outcome) => this.#settleOne(claimToken, outcome)).map(({ id }) => id);
  }

  async extendClaim(claimToken: string, ids: readonly string[]): Promise<string[]> {
    const ours = ids.filter((id) => {
      const row = this.#table.get(id);
      return row !== undefined && row.claimToken === claimToken && isPending(row) && this.#mayExtend(row);
    });
    for (const row of this.#existing(ours)) row.claimedUntil = this.#table.now() + this.claimTimeoutMs;
    return ours;
  }

  async count(filter: RowFilter = {}): Promise<OutboxCounts> {
    const counts = { pending: 0, dispatched: 0, dead: 0, total: 0 };
    for (const row of this.#matching(filter)) {
      counts[stateOf(toOutboxRow(row))] += 1;
      counts.total += 1;
    }
    return counts;
  }

  async backlog(atMost = Number.POSITIVE_INFINITY): Promise<OutboxBacklog> {
    if (atMost !== Number.POSITIVE_INFINITY) assertLimit(atMost);
    const nowMs = this.#table.now();
    const pending = [...this.#table.rows()].filter(isPending);
    const due = pending.filter(({ availableAt }) => availableAt <= nowMs);
    const oldest = due.reduce((earliest, { availableAt }) => Math.min(earliest, availableAt), nowMs);
    return {
      pending: Math.min(pending.length, atMost),
      due: Math.min(due.length, atMost),
      oldestPendingAgeMs: nowMs - oldest,
    };
  }

  async peek(filter: RowFilter, limit: number, options?: PeekOptions): Promise<OutboxRow[]> {
    assertLimit(limit);
    return this.#page(filter, limit, orderOf(filter, options)).map(toOutboxRow);
  }

  async requeue(id: string, options: RequeueOptions = {}): Promise<void> {
    assertRequeueOptions(options);
    const row = this.#table.get(id);
    if (!row) throw new OutboxError('ROW_NOT_FOUND', `no row with id '${id}'`);
    this.#requeueRow(row, options.retry);
  }

  async requeueWhere(filter: RowFilter, limit: number, options: RequeueOptions = {}): Promise<number> {
    assertLimit(limit);
    assertRequeueOptions(options);
    const rows = this.#page(requeueFilter(filter), limit, 'oldest').sort((a, b) => a.seq - b.seq);
    for (const row of rows) this.#requeueRow(row, options.retry);
    return rows.length;
  }

  async discard(ids: readonly string[]): Promise<number> {
    const dead = this.#existing(ids).filter((row) => row.deadAt !== undefined);
    for (const { id } of dead) this.#table.delete(id);
    return dead.length;
  }

  async cancel(id: string): Promise<CancelResult> {
    const row = this.#table.get(id);
    if (!row || !isPending(row)) return false;
    const wasHeld = isLive(row, this.#table.now());
    row.deadAt = this.#table.now();
    row.deadReason = 'cancelled';
    endClaim(row);
    return wasHeld ? 'may-still-be-published' : 'cancelled';
  }

  purgeDispatched(
    olderThan: Date | { readonly ageMs: number },
    filter?: Pick<RowFilter, 'topic'>,
  ): Promise<number> {
    return this.#purge('dispatchedAt', olderThan, filter);
  }

  purgeDead(
    olderThan: Date | { readonly ageMs: number },
    filter?: Pick<RowFilter, 'topic'>,
  ): Promise<number> {
    return this.#purge('deadAt', olderThan, filter);
  }

  protected assertTransaction(tx: MemoryTransaction): void {
    if (!(tx instanceof MemoryTransaction))
      throw notATransaction('enqueueWith was not given a MemoryTransaction');
    if (!tx.isOpen) throw notATransaction('enqueueWith was given a transaction that has ended');
    if (tx.table !== this.#table)
      throw notATransaction('enqueueWith was given a transaction on another table');
  }

  protected async insert(rows: readonly NewRow[], tx?: MemoryTransaction): Promise<void> {
    if (tx) tx.insert(rows);
    else this.#table.commit(this.#table.stage(rows));
  }

  /** An expired claim on a row with a key stays expired: another owner may have claimed other rows of the key since. */
  #mayExtend(row: MemoryRow): boolean {
    return row.key === undefined || (row.claimedUntil ?? 0) > this.#table.now();
  }

  /** Whether the claim was still ours, or nobody asked. */
  #settleOne(claimToken: string | undefined, outcome: Outcome): boolean {
    const row = this.#table.get(outcome.id);
    if (!row || (claimToken !== undefined && row.claimToken !== claimToken)) return false;
    if (!isPending(row)) return claimToken !== undefined && stateOf(toOutboxRow(row)) === outcome.kind;
    row.attempts += attemptsOf(outcome);
    row.retakes = 0;
    const nowMs = this.#table.now();
    switch (outcome.kind) {
      case 'dispatched':
        // The token stays as a receipt, here and on a dead row: a repeated settle finds it again.
        row.dispatchedAt = nowMs;
        break;
      case 'failed':
        row.lastError = outcome.error;
        row.availableAt = nowMs + outcome.delayMs;
        endClaim(row);
        break;
      case 'dead':
        row.lastError = outcome.error;
        row.deadAt = nowMs;
        row.deadReason = outcome.reason;
        break;
      case 'released':
        if (outcome.delayMs !== undefined) row.availableAt = nowMs + outcome.delayMs;
        endClaim(row);
    }
    return true;
  }

  async #purge(
    end: 'dispatchedAt' | 'deadAt',
    olderThan: Date | { readonly ageMs: number },
    { topic }: Pick<RowFilter, 'topic'> = {},
  ): Promise<number> {
    assertOlderThan(olderThan);
    const cutoff = olderThan instanceof Date ? olderThan.getTime() : this.#table.now() - olderThan.ageMs;
    const old = this.#matching(topic === undefined ? {} : { topic }).filter(
      (row) => (row[end] ?? Number.POSITIVE_INFINITY) < cutoff,
    );
    for (const { id } of old) this.#table.delete(id);
    return old.length;
  }

  #requeueRow(row: MemoryRow, { maxAttempts, backoff }: RetryOptions = {}): void {
    // What is still pending keeps its place; what comes back from the end goes to the tail of its key.
    if (!isPending(row)) row.seq = this.#table.nextSeq();
    endClaim(row);
    row.dispatchedAt = undefined;
    row.deadAt = undefined;
    row.deadReason = undefined;
    row.lastError = undefined;
    row.attempts = 0;
    row.retakes = 0;
    row.availableAt = this.#table.now();
    if (maxAttempts !== undefined) row.maxAttempts = maxAttempts;
    if (backoff !== undefined) row.backoff = { ...backoff };
  }

  #page(filter: RowFilter, limit: number, order: RowOrder): MemoryRow[] {
    const sign = order === 'oldest' ? 1 : -1;
    return this.#matching(filter)
      .sort((a, b) => sign * (timeOf(a) - timeOf(b) || a.seq - b.seq))
      .slice(0, limit);
  }

  #matching(filter: RowFilter): MemoryRow[] {
    return [...this.#table.rows()].filter((row) => matches(row, filter));
  }

  #existing(ids: readonly string[]): MemoryRow[] {
    return ids.flatMap((id) => this.#table.get(id) ?? []);
  }
}

function endClaim(row: MemoryRow): void {
  row.claimToken = undefined;
  row.claimedUntil = undefined;
}

/** When it ended, or falls due. */
function timeOf(row: MemoryRow): number {
  return row.dispatchedAt ?? row.deadAt ?? row.availableAt;
}
