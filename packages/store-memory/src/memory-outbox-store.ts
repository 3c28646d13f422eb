import {
  type CancelResult,
  EnqueuePipeline,
  type NewRow,
  notATransaction,
  type OutboxBacklog,
  type OutboxCounts,
  OutboxError,
  type OutboxRow,
  type OutboxStoreOptions,
  type Outcome,
  type PeekOptions,
  type PurgeCut,
  type RequeueOptions,
  type RetryOptions,
  type RowFilter,
  stateOf,
  TransactionalOutboxStore,
} from '@postcommit/core';
import {
  assertClaimOptions,
  assertFilter,
  assertKnownOptions,
  assertLimit,
  assertOlderThan,
  assertPurgeFilter,
  assertRequeueOptions,
  type ClaimOptions,
  countDead,
  createUuidv7,
  type DeadCount,
  type LookAhead,
  nameToken,
  type OptionNames,
  orderOf,
  type Random,
  type RowOrder,
  requeueFilter,
} from '@postcommit/core/internal';
import { claimable, isLive } from './claimable.js';
import { isPending, type MemoryRow, matches, toListedRow, toOutboxRow } from './memory-row.js';
import { MemoryTable } from './memory-table.js';
import { MemoryTransaction } from './memory-transaction.js';
import { endClaim, restartRow, settleRow } from './row-changes.js';

export interface MemoryOutboxStoreOptions extends OutboxStoreOptions {
  /** Pass the same table to several stores to test several dispatchers. @default a new table on the system clock */
  readonly table?: MemoryTable;
  /** The source of ids and claim tokens. `seededRandom(1)` makes them reproducible. */
  readonly random?: Random;
}

const OPTION_NAMES: OptionNames<MemoryOutboxStoreOptions> = {
  claimTimeoutMs: true,
  pipeline: true,
  table: true,
  random: true,
};

/**
 * Keeps rows in memory: for tests, for single-process applications that may lose them, and as the reference of how a store
 * behaves. Each method runs synchronously, which isolates it as a transaction does in a database.
 */
export class MemoryOutboxStore extends TransactionalOutboxStore<MemoryTransaction> {
  static {
    nameToken(this, '@postcommit/store-memory/MemoryOutboxStore');
  }

  readonly #table: MemoryTable;
  readonly #newToken: () => string;

  constructor(options: MemoryOutboxStoreOptions = {}) {
    assertKnownOptions('MemoryOutboxStore', options, OPTION_NAMES);
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

  /** Begins a transaction. End it with `commit` or `rollback`. */
  begin(): MemoryTransaction {
    return new MemoryTransaction(this.#table);
  }

  /** Runs `work` in a transaction: commits when it resolves, rolls back when it rejects. */
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

  async fetchPending(limit: number, options: ClaimOptions = {}): Promise<OutboxRow[]> {
    assertLimit(limit);
    assertClaimOptions(options);
    const { exceptTopics, token = this.#newToken() } = options;
    const nowMs = this.#table.now();
    const rows = claimable(this.#table.rows(), nowMs, limit, exceptTopics);
    for (const row of rows) {
      if (row.claimToken !== undefined) row.retakes += 1;
      row.claimToken = token;
      row.claimedAt = nowMs;
      row.claimedUntil = nowMs + this.claimTimeoutMs;
    }
    return rows.map(toOutboxRow);
  }

  async settle(claimToken: string | undefined, outcomes: readonly Outcome[]): Promise<string[]> {
    const nowMs = this.#table.now();
    const settled = outcomes.filter((outcome) => {
      const row = this.#table.get(outcome.id);
      return row !== undefined && settleRow(row, claimToken, outcome, nowMs);
    });
    return settled.map(({ id }) => id);
  }

  async extendClaim(claimToken: string, ids: readonly string[]): Promise<string[]> {
    const held = ids.filter((id) => {
      const row = this.#table.get(id);
      return row !== undefined && row.claimToken === claimToken && isPending(row) && this.#mayExtend(row);
    });
    for (const row of this.#existing(held)) row.claimedUntil = this.#table.now() + this.claimTimeoutMs;
    return held;
  }

  async count(filter: RowFilter = {}): Promise<OutboxCounts> {
    assertFilter(filter);
    const counts = { pending: 0, dispatched: 0, dead: 0, total: 0 };
    for (const row of this.#matching(filter)) {
      counts[stateOf(toOutboxRow(row))] += 1;
      counts.total += 1;
    }
    return counts;
  }

  override async countDead(limit: number): Promise<DeadCount[]> {
    assertLimit(limit);
    return countDead(this.#matching({ state: 'dead' }).map(toOutboxRow), limit);
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

  override async lookAhead(): Promise<LookAhead> {
    const nowMs = this.#table.now();
    const waits = [...this.#table.rows()].filter(isPending).map(({ availableAt }) => availableAt - nowMs);
    const next = waits.filter((ms) => ms > 0).reduce((least, ms) => Math.min(least, ms), Infinity);
    const pausedTopics = [...this.#table.pauses.keys()].sort();
    return { ...(next < Infinity && { nextDueInMs: Math.ceil(next) }), nowMs, pausedTopics };
  }

  async peek(filter: RowFilter, limit: number, options?: PeekOptions): Promise<OutboxRow[]> {
    assertFilter(filter);
    assertLimit(limit);
    return this.#page(filter, limit, orderOf(filter, options)).map(toListedRow);
  }

  async requeue(id: string, options: RequeueOptions = {}): Promise<void> {
    assertRequeueOptions(options, this.pipeline);
    const row = this.#table.get(id);
    if (!row) throw new OutboxError('ROW_NOT_FOUND', `no row with id '${id}'`);
    this.#requeueRow(row, options.retry);
  }

  async requeueWhere(filter: RowFilter, limit: number, options: RequeueOptions = {}): Promise<number> {
    assertFilter(filter);
    assertLimit(limit);
    assertRequeueOptions(options, this.pipeline);
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

  purgeDispatched(olderThan: PurgeCut, filter?: Pick<RowFilter, 'topic'>): Promise<number> {
    return this.#purge('dispatched', olderThan, filter);
  }

  purgeDead(olderThan: PurgeCut, filter?: Pick<RowFilter, 'topic'>): Promise<number> {
    return this.#purge('dead', olderThan, filter);
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

  /** An expired claim on a keyed row can't be revived: another owner may have claimed other rows of the key since. */
  #mayExtend(row: MemoryRow): boolean {
    return row.key === undefined || (row.claimedUntil ?? 0) > this.#table.now();
  }

  async #purge(
    state: 'dispatched' | 'dead',
    olderThan: PurgeCut,
    filter: Pick<RowFilter, 'topic'> = {},
  ): Promise<number> {
    assertOlderThan(olderThan);
    assertPurgeFilter(filter);
    const latestFirst = this.#page({ ...filter, state }, Number.POSITIVE_INFINITY, 'latest');
    const old = latestFirst.slice(firstToGo(latestFirst, olderThan, this.#table.now()));
    for (const { id } of old) this.#table.delete(id);
    return old.length;
  }

  /** A pending row keeps its place; a dispatched or dead row goes to the tail of its key. */
  #requeueRow(row: MemoryRow, retry?: RetryOptions): void {
    if (!isPending(row)) row.seq = this.#table.nextSeq();
    restartRow(row, this.#table.now(), retry);
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

/** When the row was dispatched or died, or else when it falls due. */
function timeOf(row: MemoryRow): number {
  return row.dispatchedAt ?? row.deadAt ?? row.availableAt;
}

/** The index of the first row that a purge deletes. */
function firstToGo(latestFirst: readonly MemoryRow[], olderThan: PurgeCut, nowMs: number): number {
  if ('keepLatest' in olderThan) return olderThan.keepLatest;
  const cutoff = olderThan instanceof Date ? olderThan.getTime() : nowMs - olderThan.ageMs;
  const first = latestFirst.findIndex((row) => timeOf(row) < cutoff);
  return first === -1 ? latestFirst.length : first;
}
