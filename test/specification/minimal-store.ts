import { randomUUID } from 'node:crypto';
import {
  type CancelResult,
  type NewRow,
  type OutboxBacklog,
  type OutboxCounts,
  OutboxError,
  type OutboxRow,
  OutboxStore,
  type OutboxStoreOptions,
  type Outcome,
  type PeekOptions,
  type PurgeCut,
  type RequeueOptions,
  type RetryOptions,
  type RowFilter,
  stateOf,
} from '@postcommit/core';
import {
  assertClaimOptions,
  assertFilter,
  assertLimit,
  assertOlderThan,
  assertPurgeFilter,
  assertRequeueOptions,
  attemptsOf,
  type ClaimOptions,
  orderOf,
  requeueFilter,
} from '@postcommit/core/internal';
import { inOrder, isLive, isPending, matches, nextClaim, type StoredRow, shown } from './minimal-rows.js';

/** What several stores share: the rows, and the clock that decides. */
export class MinimalTable {
  readonly rows = new Map<string, StoredRow>();
  readonly now: () => number;
  #seq = 0;

  constructor(now: () => number = Date.now) {
    this.now = now;
  }

  nextSeq(): number {
    this.#seq += 1;
    return this.#seq;
  }
}

/** `NineMethodStore` with all that our contract asks of a store, and nothing else. Each method runs in one piece. */
export class MinimalStore extends OutboxStore {
  readonly #table: MinimalTable;

  constructor(table = new MinimalTable(), options: OutboxStoreOptions = {}) {
    super(options);
    this.#table = table;
  }

  async fetchPending(limit: number, options: ClaimOptions = {}): Promise<OutboxRow[]> {
    assertLimit(limit);
    assertClaimOptions(options);
    const nowMs = this.#table.now();
    const claimToken = randomUUID();
    return nextClaim(this.#rows, nowMs, limit, options.exceptTopics).map((stored) => {
      const retakes = stored.row.retakes + (stored.claimedUntilMs === undefined ? 0 : 1);
      return this.#save({
        ...stored,
        row: { ...stored.row, retakes, claimToken },
        claimedAtMs: nowMs,
        claimedUntilMs: nowMs + this.claimTimeoutMs,
      }).row;
    });
  }

  async settle(claimToken: string | undefined, outcomes: readonly Outcome[]): Promise<string[]> {
    return outcomes.filter((outcome) => this.#settleOne(claimToken, outcome)).map(({ id }) => id);
  }

  async extendClaim(claimToken: string, ids: readonly string[]): Promise<string[]> {
    const nowMs = this.#table.now();
    const ours = this.#existing(ids).filter(
      (stored) =>
        stored.row.claimToken === claimToken &&
        isPending(stored) &&
        (stored.row.key === undefined || isLive(stored, nowMs)),
    );
    for (const stored of ours) this.#save({ ...stored, claimedUntilMs: nowMs + this.claimTimeoutMs });
    return ours.map(({ row }) => row.id);
  }

  async count(filter: RowFilter = {}): Promise<OutboxCounts> {
    assertFilter(filter);
    const rows = this.#matching(filter);
    const counts = { pending: 0, dispatched: 0, dead: 0, total: rows.length };
    for (const { row } of rows) counts[stateOf(row)] += 1;
    return counts;
  }

  async backlog(atMost = Number.POSITIVE_INFINITY): Promise<OutboxBacklog> {
    if (atMost !== Number.POSITIVE_INFINITY) assertLimit(atMost);
    const nowMs = this.#table.now();
    const dueMs = this.#rows.filter(isPending).map(({ row }) => row.availableAt.getTime());
    const due = dueMs.filter((ms) => ms <= nowMs);
    return {
      pending: Math.min(dueMs.length, atMost),
      due: Math.min(due.length, atMost),
      oldestPendingAgeMs: nowMs - Math.min(nowMs, ...due),
    };
  }

  async peek(filter: RowFilter, limit: number, options?: PeekOptions): Promise<OutboxRow[]> {
    assertFilter(filter);
    assertLimit(limit);
    return this.#matching(filter)
      .sort(inOrder(orderOf(filter, options)))
      .slice(0, limit)
      .map(shown);
  }

  async requeue(id: string, options: RequeueOptions = {}): Promise<void> {
    assertRequeueOptions(options, this.pipeline);
    const stored = this.#table.rows.get(id);
    if (!stored) throw new OutboxError('ROW_NOT_FOUND', `no row with id '${id}'`);
    this.#startAnew(stored, options.retry);
  }

  async requeueWhere(filter: RowFilter, limit: number, options: RequeueOptions = {}): Promise<number> {
    assertFilter(filter);
    assertLimit(limit);
    assertRequeueOptions(options, this.pipeline);
    const found = this.#matching(requeueFilter(filter))
      .sort(inOrder('oldest'))
      .slice(0, limit)
      .sort((a, b) => a.seq - b.seq);
    for (const stored of found) this.#startAnew(stored, options.retry);
    return found.length;
  }

  async discard(ids: readonly string[]): Promise<number> {
    return this.#delete(this.#existing(ids).filter(({ row }) => row.deadAt !== undefined));
  }

  async cancel(id: string): Promise<CancelResult> {
    const [stored] = this.#existing([id]).filter(isPending);
    if (!stored) return false;
    const ended = { deadAt: new Date(this.#table.now()), deadReason: 'cancelled' as const };
    this.#save({ ...unclaimed(stored), row: { ...unclaimed(stored).row, ...ended } });
    return isLive(stored, this.#table.now()) ? 'may-still-be-published' : 'cancelled';
  }

  async purgeDispatched(olderThan: PurgeCut, filter?: Pick<RowFilter, 'topic'>): Promise<number> {
    return this.#purge('dispatched', olderThan, filter);
  }

  async purgeDead(olderThan: PurgeCut, filter?: Pick<RowFilter, 'topic'>): Promise<number> {
    return this.#purge('dead', olderThan, filter);
  }

  protected async insert(rows: readonly NewRow[]): Promise<void> {
    const ids = new Set(this.#table.rows.keys());
    for (const { id } of rows) {
      if (ids.has(id)) throw new OutboxError('DUPLICATE_ID', `id '${id}' is stored already`);
      ids.add(id);
    }
    for (const row of rows) this.#save({ row: this.#toOutboxRow(row), seq: this.#table.nextSeq() });
  }

  /** Fenced: changes a row only under the token of its claim, and says whether it did. */
  #settleOne(claimToken: string | undefined, outcome: Outcome): boolean {
    const stored = this.#table.rows.get(outcome.id);
    if (!stored || (claimToken !== undefined && stored.row.claimToken !== claimToken)) return false;
    if (!isPending(stored)) return claimToken !== undefined && stateOf(stored.row) === outcome.kind;
    const retakes = outcome.kind === 'released' ? stored.row.retakes : 0;
    const row = { ...stored.row, attempts: stored.row.attempts + attemptsOf(outcome), retakes };
    this.#save(this.#after({ ...stored, row }, outcome));
    return true;
  }

  #after(stored: StoredRow, outcome: Outcome): StoredRow {
    const nowMs = this.#table.now();
    const { row } = stored;
    if (outcome.kind === 'dispatched') return { ...stored, row: { ...row, dispatchedAt: new Date(nowMs) } };
    if (outcome.kind === 'dead') {
      const { error: lastError, reason: deadReason } = outcome;
      return { ...stored, row: { ...row, lastError, deadReason, deadAt: new Date(nowMs) } };
    }
    const lastError = outcome.kind === 'failed' ? { lastError: outcome.error } : {};
    const { delayMs } = outcome;
    const availableAt = delayMs === undefined ? row.availableAt : new Date(nowMs + delayMs);
    return unclaimed({ ...stored, row: { ...row, ...lastError, availableAt } });
  }

  #startAnew(stored: StoredRow, retry: RetryOptions = {}): void {
    const { row } = unclaimed(stored);
    const { dispatchedAt, deadAt, deadReason, lastError, ...kept } = row;
    const seq = isPending(stored) ? stored.seq : this.#table.nextSeq();
    const availableAt = new Date(this.#table.now());
    this.#save({
      row: { ...kept, attempts: 0, retakes: 0, availableAt, retry: { ...kept.retry, ...retry } },
      seq,
    });
  }

  #purge(state: 'dispatched' | 'dead', cut: PurgeCut, filter: Pick<RowFilter, 'topic'> = {}): number {
    assertOlderThan(cut);
    assertPurgeFilter(filter);
    const ended = this.#matching({ ...filter, state }).sort(inOrder('latest'));
    if ('keepLatest' in cut) return this.#delete(ended.slice(cut.keepLatest));
    const beforeMs = cut instanceof Date ? cut.getTime() : this.#table.now() - cut.ageMs;
    return this.#delete(
      ended.filter(({ row }) => (row.dispatchedAt ?? row.deadAt ?? row.createdAt).getTime() < beforeMs),
    );
  }

  #toOutboxRow({ payload, headers = {}, availableAt, maxAttempts, backoff, ...row }: NewRow): OutboxRow {
    const createdAt = new Date(this.#table.now());
    const retry = { ...(maxAttempts !== undefined && { maxAttempts }), ...(backoff && { backoff }) };
    const times = { createdAt, availableAt: availableAt ?? createdAt };
    return { ...row, payload: JSON.parse(payload), headers, ...times, attempts: 0, retakes: 0, retry };
  }

  get #rows(): StoredRow[] {
    return [...this.#table.rows.values()];
  }

  #matching(filter: RowFilter): StoredRow[] {
    return this.#rows.filter(({ row }) => matches(row, filter));
  }

  #existing(ids: readonly string[]): StoredRow[] {
    return ids.flatMap((id) => this.#table.rows.get(id) ?? []);
  }

  #save(stored: StoredRow): StoredRow {
    this.#table.rows.set(stored.row.id, stored);
    return stored;
  }

  #delete(rows: readonly StoredRow[]): number {
    for (const { row } of rows) this.#table.rows.delete(row.id);
    return rows.length;
  }
}

function unclaimed({ row, seq }: StoredRow): StoredRow {
  const { claimToken, ...rest } = row;
  return { row: rest, seq };
}
