import type {
  CancelResult,
  NewRow,
  OutboxBacklog,
  OutboxCounts,
  OutboxRow,
  Outcome,
  PeekOptions,
  RequeueOptions,
  RowFilter,
} from '@postcommit/core';
import {
  MemoryOutboxStore,
  type MemoryOutboxStoreOptions,
  type MemoryTable,
  type MemoryTransaction,
} from '@postcommit/store-memory';

/** A store with one deliberate defect, and the behaviour that must notice it. */
export interface Mutant {
  readonly defect: string;
  readonly caughtBy: string;
  create(options: MemoryOutboxStoreOptions & { table: MemoryTable }): MemoryOutboxStore;
}

type Row = ReturnType<MemoryTable['rows']> extends Iterable<infer R> ? R : never;

/** Gives mutants the rows behind the store's back. */
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

type BrokenStoreClass = new (options: MemoryOutboxStoreOptions & { table: MemoryTable }) => BrokenStore;

function mutant(defect: string, caughtBy: string, Store: BrokenStoreClass): Mutant {
  return { defect, caughtBy, create: (options) => new Store(options) };
}

export const mutants: readonly Mutant[] = [
  mutant(
    'no fence: any token settles',
    'a settle by a claim that was retaken changes nothing and says so',
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
    'a row is not claimed before its time, and is after it',
    class extends BrokenStore {
      override fetchPending(limit: number): Promise<OutboxRow[]> {
        for (const row of this.pending()) row.availableAt = Math.min(row.availableAt, this.table.now());
        return super.fetchPending(limit);
      }
    },
  ),
  mutant(
    'takes more than the limit',
    'no more rows are claimed than the limit allows',
    class extends BrokenStore {
      override fetchPending(limit: number): Promise<OutboxRow[]> {
        return super.fetchPending(limit + 1);
      }
    },
  ),
  mutant(
    'takes a hundred at the most, whatever the limit',
    'a claim that is not full leaves no row behind that is due and has no key',
    class extends BrokenStore {
      override fetchPending(limit: number): Promise<OutboxRow[]> {
        return super.fetchPending(Math.min(limit, 100));
      }
    },
  ),
  mutant(
    'expires claims by the time-out of who looks',
    'a claim lives by its owner’s time-out, not by that of who looks',
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
    'a claim that expired can be taken by another dispatcher',
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
    'a retaken row of a key comes without rows of other keys beside it',
    class extends BrokenStore {
      override async fetchPending(limit: number): Promise<OutboxRow[]> {
        const rows = await super.fetchPending(limit);
        const isRetakenOfKey = rows.some(({ retakes, key }) => retakes > 0 && key !== undefined);
        return isRetakenOfKey ? [...rows, ...(await super.fetchPending(limit))] : rows;
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
    'lets a key have two owners',
    'while rows of a key are claimed, no other claim gets a row of it',
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
    'a head whose transaction commits late is not claimed beside a younger row in flight',
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
    'due rows of a key come together, in the order they were enqueued',
    class extends BrokenStore {
      override async fetchPending(limit: number): Promise<OutboxRow[]> {
        return (await super.fetchPending(limit)).reverse();
      }
    },
  ),
  mutant(
    'lets followers overtake a head that backs off',
    'a head that backs off holds back its key, and no other',
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
    'a released row is due at once, or after its delay, with no attempt counted',
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
    'a repeated settle gives the same ids and changes nothing',
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
    'of a batch owned in part, only the owned rows are settled',
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
    'a claim that was lost can’t be extended',
    class extends BrokenStore {
      override async extendClaim(token: string, ids: readonly string[]): Promise<string[]> {
        await super.extendClaim(token, ids);
        return [...ids];
      }
    },
  ),
  mutant(
    'revives an expired claim on a key',
    'an expired claim on a row of a key can’t be extended, even if nobody took that row',
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
    'cancelling makes a pending row dead and fences its claim',
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
    'says cancelled although a claim on the row is alive',
    'cancelling says whether a live claim may still publish the row',
    class extends BrokenStore {
      override async cancel(id: string): Promise<CancelResult> {
        return (await super.cancel(id)) && 'cancelled';
      }
    },
  ),
  mutant(
    'takes an expired claim for one that may still publish',
    'cancelling says whether a live claim may still publish the row',
    class extends BrokenStore {
      override async cancel(id: string): Promise<CancelResult> {
        const isClaimed = this.table.get(id)?.claimToken !== undefined;
        return (await super.cancel(id)) && (isClaimed ? 'may-still-be-published' : 'cancelled');
      }
    },
  ),
  mutant(
    'forgets rollback',
    'what was enqueued in a transaction that rolled back never existed',
    class extends BrokenStore {
      protected override insert(rows: readonly NewRow[]): Promise<void> {
        return super.insert(rows);
      }
    },
  ),
  mutant(
    'stores the good half of a bad list',
    'an id that is stored already is refused, with every other entry of the call',
    class extends BrokenStore {
      protected override async insert(rows: readonly NewRow[], tx?: MemoryTransaction): Promise<void> {
        for (const row of rows) await super.insert([row], tx);
      }
    },
  ),
  mutant(
    'ignores a duplicate id',
    'an id that is stored already is refused, with every other entry of the call',
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
    'forgets the policy of an entry',
    'the policy of an entry is frozen in its row',
    class extends BrokenStore {
      protected override insert(rows: readonly NewRow[], tx?: MemoryTransaction): Promise<void> {
        const stripped = rows.map(({ maxAttempts: _max, backoff: _backoff, ...row }) => row);
        return super.insert(stripped, tx);
      }
    },
  ),
  mutant(
    'requeues into the old place of the key',
    'a requeued row goes to the tail of its key',
    class extends BrokenStore {
      override async requeue(id: string): Promise<void> {
        const seq = this.table.get(id)?.seq;
        await super.requeue(id);
        if (seq !== undefined) Object.assign(this.table.get(id) ?? {}, { seq });
      }
    },
  ),
  mutant(
    'requeues without forgetting the attempts',
    'a dead row starts anew',
    class extends BrokenStore {
      override async requeue(id: string): Promise<void> {
        const attempts = this.table.get(id)?.attempts;
        await super.requeue(id);
        Object.assign(this.table.get(id) ?? {}, { attempts });
      }
    },
  ),
  mutant(
    'forgets the rest of a policy when a row is requeued with a part of one',
    'a row can be requeued with another policy; what is left out stays',
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
    'a filter requeues with another policy',
    class extends BrokenStore {
      override requeueWhere(filter: RowFilter, limit: number): Promise<number> {
        return super.requeueWhere(filter, limit);
      }
    },
  ),
  mutant(
    'requeues what died last first',
    'a filter requeues those that died first and no more than the limit',
    class extends BrokenStore {
      override async requeueWhere(filter: RowFilter, limit: number): Promise<number> {
        const rows = await this.peek({ state: 'dead', ...filter }, limit);
        for (const { id } of rows) await this.requeue(id);
        return rows.length;
      }
    },
  ),
  mutant(
    'counts all rows, whatever the filter',
    'counts can be of the rows that match',
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
    'pending and dead rows are never deleted, however old',
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
    'dispatched rows older than the window are deleted, younger ones stay',
    class extends BrokenStore {
      override purgeDispatched(): Promise<number> {
        return super.purgeDispatched(new Date(this.table.now() + 1));
      }
    },
  ),
  mutant(
    'purges pending rows with the dead ones',
    'dead rows are deleted only where it is asked for, and only past their own age',
    class extends BrokenStore {
      override async purgeDead(olderThan: Date | { readonly ageMs: number }): Promise<number> {
        for (const { id } of this.pending()) this.table.delete(id);
        return super.purgeDead(olderThan);
      }
    },
  ),
  mutant(
    'takes a row that is not due for one that waits',
    'the backlog is what waits, and how long the first has been due',
    class extends BrokenStore {
      override async backlog(atMost?: number): Promise<OutboxBacklog> {
        const backlog = await super.backlog(atMost);
        return { ...backlog, due: backlog.pending };
      }
    },
  ),
  mutant(
    'purges one page and stops',
    'more rows than a page are all deleted',
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
];
