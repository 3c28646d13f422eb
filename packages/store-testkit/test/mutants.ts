import type {
  CancelResult,
  NewRow,
  OutboxBacklog,
  OutboxCounts,
  OutboxRow,
  OutboxStore,
  Outcome,
  PeekOptions,
  RequeueOptions,
  RowFilter,
} from '@postcommit/core';
import type { ClaimOptions, DeadCount, LookAhead } from '@postcommit/core/internal';
import {
  MemoryOutboxStore,
  type MemoryOutboxStoreOptions,
  type MemoryTable,
  type MemoryTransaction,
} from '@postcommit/store-memory';
import type { MemoryParts } from '../../store-memory/test/open-memory-outbox.js';
import { pauseMutants, workerMutants } from './capability-mutants.js';

/** A store with one deliberate defect, and the behaviour that must fail because of it. */
export interface Mutant {
  readonly defect: string;
  readonly caughtBy: string;
  readonly parts: MemoryParts;
}

type Row = ReturnType<MemoryTable['rows']> extends Iterable<infer R> ? R : never;

/** A table that exposes its rows to the mutants. */
abstract class BrokenStore extends MemoryOutboxStore {
  protected readonly table: MemoryTable;

  constructor(options: MemoryOutboxStoreOptions & { table: MemoryTable }) {
    super(options);
    this.table = options.table;
  }

  protected rows(): Row[] {
    return [...this.table.rows()];
  }

  protected pending(): Row[] {
    return this.rows().filter((row) => row.dispatchedAt === undefined && row.deadAt === undefined);
  }
}

/** Hides rows from claims, depending on what was pending when a claim found nothing. */
abstract class ForgetfulStore extends BrokenStore {
  #passed: readonly Row[] = [];

  protected abstract hides(row: Row, passed: readonly Row[]): boolean;

  override async fetchPending(limit: number, options?: ClaimOptions): Promise<OutboxRow[]> {
    const hidden = this.pending().filter((row) => this.hides(row, this.#passed));
    const dueAt = new Map(hidden.map((row) => [row, row.availableAt]));
    for (const row of hidden) row.availableAt = Number.POSITIVE_INFINITY;
    const claimed = await super.fetchPending(limit, options);
    for (const [row, availableAt] of dueAt) row.availableAt = availableAt;
    if (claimed.length === 0) this.#passed = this.pending().map((row) => ({ ...row }));
    return claimed;
  }
}

/** Sees only so many of the due rows with a key. */
abstract class ShortSightedStore extends BrokenStore {
  /** Whether this row, the first of its key, makes the others wait. */
  protected abstract blocks(head: Row): boolean;

  override async fetchPending(limit: number, options?: ClaimOptions): Promise<OutboxRow[]> {
    const keyed = this.pending().filter(({ key }) => key !== undefined);
    const head = keyed.find(({ key }) => key === keyed[1]?.key);
    return keyed.length > 4_000 && head && this.blocks(head) ? [] : super.fetchPending(limit, options);
  }
}

type BrokenStoreClass = new (options: MemoryOutboxStoreOptions & { table: MemoryTable }) => BrokenStore;

function mutant(defect: string, caughtBy: string, Store: BrokenStoreClass): Mutant {
  return { defect, caughtBy, parts: { createStore: (options) => new Store(options) } };
}

export const mutants: readonly Mutant[] = [
  mutant(
    'looks for rows no further than those that wait for a claimed one',
    'rows that wait for a claimed one do not hide those of other keys',
    class extends ShortSightedStore {
      protected blocks({ claimedUntil }: Row): boolean {
        return claimedUntil !== undefined;
      }
    },
  ),
  mutant(
    'looks for rows no further than those that wait for one that backs off',
    'rows that wait for one that backs off do not hide those of other keys',
    class extends ShortSightedStore {
      protected blocks({ availableAt }: Row): boolean {
        return availableAt > this.table.now();
      }
    },
  ),
  mutant(
    'does not look before the place where a search ended',
    'a row of another key in the midst of them is found however late it commits',
    class extends ForgetfulStore {
      protected hides({ id, seq }: Row, passed: readonly Row[]): boolean {
        return seq < (passed.at(-1)?.seq ?? 0) && !passed.some((row) => row.id === id);
      }
    },
  ),
  mutant(
    'forgets rows in flight once its search is behind them',
    'a row of another key that is released before them is found',
    class extends ForgetfulStore {
      protected hides({ id, claimedUntil }: Row, passed: readonly Row[]): boolean {
        const wasInFlight = passed.some((row) => row.id === id && row.claimedUntil !== undefined);
        return wasInFlight && claimedUntil === undefined;
      }
    },
  ),
  mutant(
    'forgets a key once its search is behind its rows',
    'once the first is dispatched, the others are claimed without delay, in order',
    class extends ForgetfulStore {
      protected hides({ key }: Row, passed: readonly Row[]): boolean {
        return passed.length > 1 && key !== undefined && passed[0]?.key === key;
      }
    },
  ),
  mutant(
    'ignores the topics that a claim leaves out',
    'rows of a topic that is left out stay, and the others are claimed',
    class extends BrokenStore {
      override fetchPending(limit: number): Promise<OutboxRow[]> {
        return super.fetchPending(limit);
      }
    },
  ),
  mutant(
    'looks for rows no further than those that are left out',
    'many rows that are left out do not hide the rows behind them',
    class extends BrokenStore {
      override async fetchPending(
        limit: number,
        { exceptTopics = [] }: ClaimOptions = {},
      ): Promise<OutboxRow[]> {
        const first = this.pending().slice(0, 1_000);
        const isHidden = first.length === 1_000 && first.every(({ topic }) => exceptTopics.includes(topic));
        return isHidden ? [] : super.fetchPending(limit, { exceptTopics });
      }
    },
  ),
  mutant(
    'overtakes a row of its key that is left out',
    'a key waits while the topic of its oldest row is left out',
    class extends BrokenStore {
      override async fetchPending(
        limit: number,
        { exceptTopics = [] }: ClaimOptions = {},
      ): Promise<OutboxRow[]> {
        const rows = this.pending().filter(({ topic }) => exceptTopics.includes(topic)) as Array<{
          key?: string;
        }>;
        const keys = rows.map(({ key }) => key);
        for (const row of rows) delete row.key;
        const claimed = await super.fetchPending(limit, { exceptTopics });
        for (const [index, row] of rows.entries()) {
          const key = keys[index];
          if (key !== undefined) row.key = key;
        }
        return claimed;
      }
    },
  ),
  mutant(
    'takes over expired claims on rows that are left out',
    'an expired claim on a row with a key is not taken over either, and the rows behind it wait',
    class extends BrokenStore {
      override fetchPending(limit: number, options?: ClaimOptions): Promise<OutboxRow[]> {
        const now = this.table.now();
        const hasExpired = this.pending().some(({ claimedUntil }) => (claimedUntil ?? now + 1) <= now);
        return super.fetchPending(limit, hasExpired ? {} : options);
      }
    },
  ),
  mutant(
    'treats an unknown filter as all rows',
    'an unknown filter or option is rejected, and nothing changes',
    class extends BrokenStore {
      override requeueWhere({ topic, reason }: RowFilter, limit: number): Promise<number> {
        return super.requeueWhere({ ...(topic && { topic }), ...(reason && { reason }) }, limit);
      }
    },
  ),
  mutant(
    'lists by default order with an unknown option',
    'an unknown filter or option is rejected, and nothing changes',
    class extends BrokenStore {
      override peek(filter: RowFilter, limit: number, { order }: PeekOptions = {}): Promise<OutboxRow[]> {
        return super.peek(filter, limit, { ...(order && { order }) });
      }
    },
  ),
  mutant(
    'has no fence: any token settles',
    'a settle under a claim that was taken over changes nothing and reports it',
    class extends BrokenStore {
      override settle(_token: string | undefined, outcomes: readonly Outcome[]): Promise<string[]> {
        return super.settle(undefined, outcomes);
      }
    },
  ),
  mutant(
    'claims the same row twice',
    'two dispatchers never receive the same row',
    class extends BrokenStore {
      override async fetchPending(limit: number): Promise<OutboxRow[]> {
        const rows = await super.fetchPending(limit);
        for (const row of this.pending()) row.claimedUntil = undefined;
        return rows;
      }
    },
  ),
  mutant(
    'ignores the due time',
    'a row is claimed when it is due, and not before',
    class extends BrokenStore {
      override fetchPending(limit: number): Promise<OutboxRow[]> {
        for (const row of this.pending()) row.availableAt = Math.min(row.availableAt, this.table.now());
        return super.fetchPending(limit);
      }
    },
  ),
  mutant(
    'claims more than the limit',
    'a claim never exceeds its limit',
    class extends BrokenStore {
      override fetchPending(limit: number): Promise<OutboxRow[]> {
        return super.fetchPending(limit + 1);
      }
    },
  ),
  mutant(
    'claims at most a hundred rows, whatever the limit',
    'a claim below its limit leaves no due unkeyed row behind',
    class extends BrokenStore {
      override fetchPending(limit: number): Promise<OutboxRow[]> {
        return super.fetchPending(Math.min(limit, 100));
      }
    },
  ),
  mutant(
    'expires claims by the timeout of the store that looks',
    'a claim expires by the timeout of its owner, not of the store that looks',
    class extends BrokenStore {
      static readonly claimedAt = new WeakMap<object, number>();
      override async fetchPending(limit: number): Promise<OutboxRow[]> {
        const { claimedAt } = this.constructor as unknown as { claimedAt: WeakMap<object, number> };
        for (const row of this.pending()) {
          const since = claimedAt.get(row);
          if (row.claimedUntil !== undefined && since !== undefined)
            row.claimedUntil = since + this.claimTimeoutMs;
        }
        const rows = await super.fetchPending(limit);
        for (const { id } of rows) claimedAt.set(this.table.get(id) ?? {}, this.table.now());
        return rows;
      }
    },
  ),
  mutant(
    'never retakes an expired claim',
    'an expired claim can be taken over by another dispatcher',
    class extends BrokenStore {
      override fetchPending(limit: number): Promise<OutboxRow[]> {
        for (const row of this.pending())
          if (row.claimedUntil !== undefined) row.claimedUntil = Number.POSITIVE_INFINITY;
        return super.fetchPending(limit);
      }
    },
  ),
  mutant(
    'retakes a crashed batch as a whole',
    'rows of a crashed batch are retaken one at a time',
    class extends BrokenStore {
      override fetchPending(limit: number): Promise<OutboxRow[]> {
        for (const row of this.pending()) {
          if (row.claimedUntil !== undefined && row.claimedUntil <= this.table.now())
            row.claimedUntil = undefined;
        }
        return super.fetchPending(limit);
      }
    },
  ),
  mutant(
    'retakes a row of a key together with rows of other keys',
    'a retaken row of a key is claimed without rows of other keys',
    class extends BrokenStore {
      override async fetchPending(limit: number): Promise<OutboxRow[]> {
        const rows = await super.fetchPending(limit);
        const isRetakenOfKey = rows.some(({ retakes, key }) => retakes > 0 && key !== undefined);
        return isRetakenOfKey ? [...rows, ...(await super.fetchPending(limit))] : rows;
      }
    },
  ),
  mutant(
    'forgets the retakes of a released row',
    'a release keeps the retakes',
    class extends BrokenStore {
      override async settle(claimToken: string | undefined, outcomes: readonly Outcome[]): Promise<string[]> {
        const settled = await super.settle(claimToken, outcomes);
        for (const { id } of outcomes) {
          const row = settled.includes(id) ? this.table.get(id) : undefined;
          if (row) row.retakes = 0;
        }
        return settled;
      }
    },
  ),
  mutant(
    'counts a retaken claim as an attempt',
    'a retaken claim counts as a retake, not as an attempt',
    class extends BrokenStore {
      override async fetchPending(limit: number): Promise<OutboxRow[]> {
        const rows = await super.fetchPending(limit);
        for (const { id, retakes } of rows) {
          const row = this.table.get(id);
          if (row && retakes > 0) row.attempts += 1;
        }
        return rows;
      }
    },
  ),
  mutant(
    'allows a key two owners',
    'while rows of a key are claimed, no other claim takes a row of that key',
    class extends BrokenStore {
      override async fetchPending(limit: number): Promise<OutboxRow[]> {
        const keys = new Map(this.rows().map((row) => [row, row.key]));
        for (const row of keys.keys()) Object.assign(row, { key: undefined });
        const rows = await super.fetchPending(limit);
        for (const [row, key] of keys) Object.assign(row, { key });
        return rows;
      }
    },
  ),
  mutant(
    'checks only older rows of a key for a live claim',
    'a row whose transaction commits late is not claimed while a later row of its key is in flight',
    class extends BrokenStore {
      override async fetchPending(limit: number): Promise<OutboxRow[]> {
        const live = this.pending().filter((row) => (row.claimedUntil ?? 0) > this.table.now());
        const heads = this.pending().filter(
          (row) =>
            row.claimToken === undefined &&
            live.some((other) => other.key === row.key && other.seq > row.seq),
        );
        const keys = new Map(heads.map((row) => [row, row.key]));
        for (const row of heads) Object.assign(row, { key: undefined });
        const rows = await super.fetchPending(limit);
        for (const [row, key] of keys) Object.assign(row, { key });
        return rows;
      }
    },
  ),
  mutant(
    'loses the order in a key',
    'due rows of a key are claimed together, in the order they were enqueued',
    class extends BrokenStore {
      override async fetchPending(limit: number): Promise<OutboxRow[]> {
        return (await super.fetchPending(limit)).reverse();
      }
    },
  ),
  mutant(
    'lets followers overtake a head that backs off',
    'a row that backs off holds back the later rows of its key, and of no other',
    class extends BrokenStore {
      override async settle(token: string | undefined, outcomes: readonly Outcome[]): Promise<string[]> {
        const settled = await super.settle(token, outcomes);
        for (const { id, kind } of outcomes) {
          const row = this.table.get(id);
          if (row && kind === 'failed') row.seq = this.table.nextSeq();
        }
        return settled;
      }
    },
  ),
  mutant(
    'counts a released claim as an attempt',
    'a released row is due at once or after its delay, and counts no attempt',
    class extends BrokenStore {
      override async settle(token: string | undefined, outcomes: readonly Outcome[]): Promise<string[]> {
        const settled = await super.settle(token, outcomes);
        for (const { id, kind } of outcomes) {
          const row = this.table.get(id);
          if (row && kind === 'released') row.attempts += 1;
        }
        return settled;
      }
    },
  ),
  mutant(
    'does not count a failure',
    'a failed row waits for its delay',
    class extends BrokenStore {
      override async settle(token: string | undefined, outcomes: readonly Outcome[]): Promise<string[]> {
        const settled = await super.settle(token, outcomes);
        for (const id of settled) Object.assign(this.table.get(id) ?? {}, { attempts: 0 });
        return settled;
      }
    },
  ),
  mutant(
    'forgets the receipt of a settle',
    'a repeated settle returns the same ids and changes nothing',
    class extends BrokenStore {
      override async settle(token: string | undefined, outcomes: readonly Outcome[]): Promise<string[]> {
        const settled = await super.settle(token, outcomes);
        for (const id of settled) Object.assign(this.table.get(id) ?? {}, { claimToken: undefined });
        return settled;
      }
    },
  ),
  mutant(
    'settles all of a batch or nothing',
    'if only part of a batch is still owned, only that part is settled',
    class extends BrokenStore {
      override async settle(token: string | undefined, outcomes: readonly Outcome[]): Promise<string[]> {
        const foreign = outcomes.some(
          ({ id }) => token !== undefined && this.table.get(id)?.claimToken !== token,
        );
        return foreign ? [] : super.settle(token, outcomes);
      }
    },
  ),
  mutant(
    'extends claims that are lost',
    'a lost claim can’t be extended',
    class extends BrokenStore {
      override async extendClaim(token: string, ids: readonly string[]): Promise<string[]> {
        await super.extendClaim(token, ids);
        return [...ids];
      }
    },
  ),
  mutant(
    'revives an expired claim on a key',
    'an expired claim on a keyed row can’t be extended, even if nobody has taken the row',
    class extends BrokenStore {
      override async extendClaim(token: string, ids: readonly string[]): Promise<string[]> {
        const ours = ids.filter((id) => this.table.get(id)?.claimToken === token);
        for (const id of ours)
          Object.assign(this.table.get(id) ?? {}, { claimedUntil: this.table.now() + 1_000 });
        return ours;
      }
    },
  ),
  mutant(
    'cancels without fencing the claim',
    'cancelling a pending row makes it dead and fences its claim',
    class extends BrokenStore {
      override async cancel(id: string): Promise<CancelResult> {
        const row = this.table.get(id);
        if (!row || row.dispatchedAt !== undefined || row.deadAt !== undefined) return false;
        Object.assign(row, { lastError: 'cancelled' });
        return 'cancelled';
      }
    },
  ),
  mutant(
    'reports cancelled although the row has a live claim',
    'cancelling reports whether a live claim may still publish the row',
    class extends BrokenStore {
      override async cancel(id: string): Promise<CancelResult> {
        return (await super.cancel(id)) && 'cancelled';
      }
    },
  ),
  mutant(
    'reports an expired claim as one that may still publish',
    'cancelling reports whether a live claim may still publish the row',
    class extends BrokenStore {
      override async cancel(id: string): Promise<CancelResult> {
        const isClaimed = this.table.get(id)?.claimToken !== undefined;
        return (await super.cancel(id)) && (isClaimed ? 'may-still-be-published' : 'cancelled');
      }
    },
  ),
  mutant(
    'ignores a rollback',
    'entries enqueued in a transaction that rolls back are never stored',
    class extends BrokenStore {
      protected override insert(rows: readonly NewRow[]): Promise<void> {
        return super.insert(rows);
      }
    },
  ),
  mutant(
    'stores the valid entries of a rejected list',
    'an id that is already stored rejects the whole call',
    class extends BrokenStore {
      protected override async insert(rows: readonly NewRow[], tx?: MemoryTransaction): Promise<void> {
        for (const row of rows) await super.insert([row], tx);
      }
    },
  ),
  mutant(
    'ignores a duplicate id',
    'an id that is already stored rejects the whole call',
    class extends BrokenStore {
      protected override insert(rows: readonly NewRow[], tx?: MemoryTransaction): Promise<void> {
        return super.insert(
          rows.filter(({ id }) => !this.table.get(id)),
          tx,
        );
      }
    },
  ),
  mutant(
    'loses the retry policy of an entry',
    'the retry policy of an entry is stored with its row',
    class extends BrokenStore {
      protected override insert(rows: readonly NewRow[], tx?: MemoryTransaction): Promise<void> {
        const stripped = rows.map(({ maxAttempts: _max, backoff: _backoff, ...row }) => row);
        return super.insert(stripped, tx);
      }
    },
  ),
  mutant(
    'loses a backoff that is only a name',
    'a named backoff strategy is resolved by the dispatcher',
    class extends BrokenStore {
      protected override insert(rows: readonly NewRow[], tx?: MemoryTransaction): Promise<void> {
        const stripped = rows.map(({ backoff, ...row }) =>
          backoff?.delayMs === undefined ? row : { ...row, backoff },
        );
        return super.insert(stripped, tx);
      }
    },
  ),
  mutant(
    'requeues into the old place in the key',
    'a requeued row goes to the end of its key',
    class extends BrokenStore {
      override async requeue(id: string): Promise<void> {
        const seq = this.table.get(id)?.seq;
        await super.requeue(id);
        if (seq !== undefined) Object.assign(this.table.get(id) ?? {}, { seq });
      }
    },
  ),
  mutant(
    'requeues without resetting the attempts',
    'a requeued dead row starts over',
    class extends BrokenStore {
      override async requeue(id: string): Promise<void> {
        const attempts = this.table.get(id)?.attempts;
        await super.requeue(id);
        Object.assign(this.table.get(id) ?? {}, { attempts });
      }
    },
  ),
  mutant(
    'drops the rest of a policy when a row is requeued with part of one',
    'a row can be requeued with another policy, and keeps what the new one leaves out',
    class extends BrokenStore {
      override async requeue(id: string, options: RequeueOptions = {}): Promise<void> {
        await super.requeue(id, options);
        const { maxAttempts, backoff } = options.retry ?? {};
        if (options.retry) Object.assign(this.table.get(id) ?? {}, { maxAttempts, backoff });
      }
    },
  ),
  mutant(
    'requeues by filter and ignores the policy',
    'a filter can requeue with another policy',
    class extends BrokenStore {
      override requeueWhere(filter: RowFilter, limit: number): Promise<number> {
        return super.requeueWhere(filter, limit);
      }
    },
  ),
  mutant(
    'requeues the rows that died last first',
    'a filter requeues the rows that died first, up to the limit',
    class extends BrokenStore {
      override async requeueWhere(filter: RowFilter, limit: number): Promise<number> {
        const rows = await this.peek({ state: 'dead', ...filter }, limit);
        for (const { id } of rows) await this.requeue(id);
        return rows.length;
      }
    },
  ),
  mutant(
    'counts the dead rows of all topics together',
    'dead rows are counted by topic and reason, the most frequent first',
    class extends BrokenStore {
      override async countDead(limit: number): Promise<DeadCount[]> {
        const counts = await super.countDead(limit);
        return counts.map((one) => ({ ...one, topic: counts[0]?.topic ?? one.topic }));
      }
    },
  ),
  mutant(
    'counts all dead rows, whatever the limit',
    'dead rows are counted by topic and reason, the most frequent first',
    class extends BrokenStore {
      override countDead(limit: number): Promise<DeadCount[]> {
        return super.countDead(limit === 2 ? 10 : limit);
      }
    },
  ),
  mutant(
    'counts all rows, whatever the filter',
    'counts can be limited by a filter',
    class extends BrokenStore {
      override count(): Promise<OutboxCounts> {
        return super.count();
      }
    },
  ),
  mutant(
    'lists all rows in the order they were enqueued',
    'rows of all states are listed by the time they ended or fall due, latest first',
    class extends BrokenStore {
      override async peek(filter: RowFilter, limit: number, options?: PeekOptions): Promise<OutboxRow[]> {
        const rows = await super.peek(filter, limit, options);
        const seqOf = ({ id }: OutboxRow): number => this.table.get(id)?.seq ?? 0;
        return filter.state ? rows : rows.sort((a, b) => seqOf(b) - seqOf(a));
      }
    },
  ),
  mutant(
    'purges dead rows',
    'purging dispatched rows never deletes pending or dead rows, however old',
    class extends BrokenStore {
      override async purgeDispatched(olderThan: Date | { readonly ageMs: number }): Promise<number> {
        const dead = this.rows().filter((row) => row.deadAt !== undefined);
        for (const { id } of dead) this.table.delete(id);
        return dead.length + (await super.purgeDispatched(olderThan));
      }
    },
  ),
  mutant(
    'purges rows inside the window',
    'purging deletes dispatched rows older than the window and keeps younger ones',
    class extends BrokenStore {
      override purgeDispatched(): Promise<number> {
        return super.purgeDispatched(new Date(this.table.now() + 1));
      }
    },
  ),
  mutant(
    'purges pending rows with the dead ones',
    'purging dead rows deletes only dead rows, and only those past their age',
    class extends BrokenStore {
      override async purgeDead(olderThan: Date | { readonly ageMs: number }): Promise<number> {
        for (const { id } of this.pending()) this.table.delete(id);
        return super.purgeDead(olderThan);
      }
    },
  ),
  mutant(
    'keeps every row that ended at the same time as the last one to keep',
    'keepLatest keeps exactly n rows, even if many ended at the same time',
    class extends BrokenStore {
      override async purgeDispatched(...[cut, filter]: Parameters<OutboxStore['purgeDispatched']>) {
        if (!('keepLatest' in cut)) return super.purgeDispatched(cut, filter);
        const latest = await this.peek({ ...filter, state: 'dispatched' }, cut.keepLatest + 1);
        const last = latest.length > cut.keepLatest ? latest[cut.keepLatest - 1]?.dispatchedAt : undefined;
        return last ? super.purgeDispatched(last, filter) : 0;
      }
    },
  ),
  mutant(
    'lists claimed rows without the end of their claim',
    'a claimed row is listed with the time of its claim and its end',
    class extends BrokenStore {
      override async peek(filter: RowFilter, limit: number, options?: PeekOptions): Promise<OutboxRow[]> {
        const rows = await super.peek(filter, limit, options);
        return rows.map(({ claimedUntil: _, ...row }) => row);
      }
    },
  ),
  mutant(
    'moves the time of a claim when it extends it',
    'a claimed row is listed with the time of its claim and its end',
    class extends BrokenStore {
      override async extendClaim(token: string, ids: readonly string[]): Promise<string[]> {
        for (const row of this.pending()) if (ids.includes(row.id)) row.claimedAt = this.table.now();
        return super.extendClaim(token, ids);
      }
    },
  ),
  mutant(
    'does not know when the next row falls due',
    'a row for later falls due in the time that is left by the clock of the store',
    class extends BrokenStore {
      override async lookAhead(): Promise<LookAhead> {
        return { pausedTopics: [] };
      }
    },
  ),
  mutant(
    'answers with the clock of the process',
    'the time that comes with the answer is the clock of the store',
    class extends BrokenStore {
      override async lookAhead(): Promise<LookAhead> {
        return { ...(await super.lookAhead()), nowMs: Date.now() };
      }
    },
  ),
  mutant(
    'takes the first pending row for the next to fall due, so that its worker never sleeps',
    'rows that are due do not count, even if they wait behind their key',
    class extends BrokenStore {
      override async lookAhead(): Promise<LookAhead> {
        const times = this.pending().map(({ availableAt }) => availableAt - this.table.now());
        return nextDue(times.length === 0 ? undefined : Math.min(...times));
      }
    },
  ),
  mutant(
    'takes the end of a claim for a due time',
    'claimed rows do not count: a claim that may expire is left to the polls',
    class extends BrokenStore {
      override async lookAhead(): Promise<LookAhead> {
        const ends = this.pending().flatMap(({ claimedUntil }) => claimedUntil ?? []);
        return ends.length === 0 ? super.lookAhead() : nextDue(Math.min(...ends) - this.table.now());
      }
    },
  ),
  mutant(
    'overlooks rows with a key that fall due',
    'the first row counts, with or without a key',
    class extends BrokenStore {
      override async lookAhead(): Promise<LookAhead> {
        const nowMs = this.table.now();
        const unkeyed = this.pending().filter((row) => row.key === undefined && row.availableAt > nowMs);
        const times = unkeyed.map((row) => row.availableAt - nowMs);
        return nextDue(times.length === 0 ? undefined : Math.min(...times));
      }
    },
  ),
  mutant(
    'answers with a time instead of a distance',
    'a failed row falls due after its delay',
    class extends BrokenStore {
      override async lookAhead(): Promise<LookAhead> {
        const { nextDueInMs } = await super.lookAhead();
        return nextDue(nextDueInMs === undefined ? undefined : this.table.now() + nextDueInMs);
      }
    },
  ),
  mutant(
    'counts a row that is not due as due',
    'the backlog is the number of pending and due rows, and the age of the oldest',
    class extends BrokenStore {
      override async backlog(atMost?: number): Promise<OutboxBacklog> {
        const backlog = await super.backlog(atMost);
        return { ...backlog, due: backlog.pending };
      }
    },
  ),
  mutant(
    'purges one page and stops',
    'purging is not limited to one page',
    class extends BrokenStore {
      override async purgeDispatched(): Promise<number> {
        const page = this.rows()
          .filter((row) => row.dispatchedAt !== undefined)
          .slice(0, 1_000);
        for (const { id } of page) this.table.delete(id);
        return page.length;
      }
    },
  ),
  ...workerMutants,
  ...pauseMutants,
];

function nextDue(inMs: number | undefined): LookAhead {
  return { ...(inMs !== undefined && { nextDueInMs: inMs }), pausedTopics: [] };
}
