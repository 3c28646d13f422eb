import { MemoryTable, MemoryTransaction } from '@postcommit/store-memory';
import { vi } from 'vitest';
import { ClaimLease } from '../../src/dispatch/claim-lease.js';
import { ClaimedBatch } from '../../src/dispatch/claimed-batch.js';
import { RateLimits } from '../../src/dispatch/rate-limits.js';
import { BatchQueue } from '../../src/dispatch/rows-in-flight.js';
import { EarlySettles } from '../../src/dispatch/settle-batch.js';
import { PausedTopics } from '../../src/publish/availability.js';
import { Breaker } from '../../src/publish/breaker.js';
import { Incarnation } from '../../src/worker/membership.js';
import { WorkerWatch } from '../../src/worker/worker-watch.js';
import type { Mutant } from './mutant.js';

/** Engines, and stores, with one thing broken. */
export const MUTANTS: readonly Mutant[] = [
  {
    name: 'publishes what was rolled back',
    breaks: /^I1:/,
    patch: () =>
      patched(
        vi.spyOn(MemoryTransaction.prototype, 'rollback').mockImplementation(function (
          this: MemoryTransaction,
        ) {
          this.commit();
        }),
      ),
  },
  {
    name: 'acknowledges before the publisher has ended',
    breaks: /^I2/,
    publisher: (publisher) =>
      overriding(publisher, {
        publish: async (row, context) => {
          publisher.publish(row, context).catch(() => {});
        },
        ...(publisher.publishBatch && {
          publishBatch: async (rows, context) => {
            publisher.publishBatch?.(rows, context).catch(() => {});
            return rows.map(() => ({ status: 'fulfilled' }));
          },
        }),
      }),
  },
  {
    name: 'settles without a fence',
    breaks: /^I3/,
    inner: (store) => overriding(store, { settle: (_token, outcomes) => store.settle(undefined, outcomes) }),
  },
  {
    name: 'extends claims that have ended',
    breaks: /^I[34]/,
    inner: (store) =>
      overriding(store, {
        extendClaim: async (token, ids) => {
          const kept = await store.extendClaim(token, ids);
          return kept.length > 0 ? [...ids] : kept;
        },
      }),
  },
  {
    name: 'claims a key that has an owner',
    breaks: /^I[45]/,
    table: (table) =>
      new TableView(
        table,
        () => true,
        (row) =>
          new Proxy(row, {
            get: (target, name) => (name === 'key' ? undefined : Reflect.get(target, name)),
          }),
      ),
  },
  {
    name: 'publishes rows of one key beside each other',
    breaks: /^I5/,
    store: (store) =>
      overriding(store, {
        fetchPending: async (limit) => (await store.fetchPending(limit)).map(({ key: _, ...row }) => row),
      }),
  },
  {
    name: 'a failed head does not hold back its followers',
    breaks: /^I5/,
    patch: () => patched(vi.spyOn(BatchQueue.prototype, 'isHeldBack').mockReturnValue(false)),
  },
  {
    name: 'never takes over a claim that expired',
    breaks: /^I7/,
    table: (table) =>
      new TableView(
        table,
        (row) => (row.claimedUntil ?? Number.POSITIVE_INFINITY) > table.now(),
        (row) => row,
      ),
  },
  {
    name: 'does not count crashes',
    breaks: /^I8/,
    store: (store) =>
      overriding(store, {
        fetchPending: async (limit) =>
          (await store.fetchPending(limit)).map((row) => ({ ...row, retakes: 0 })),
      }),
  },
  {
    name: 'does not count attempts',
    breaks: /^I8/,
    store: (store) =>
      overriding(store, {
        fetchPending: async (limit) =>
          (await store.fetchPending(limit)).map((row) => ({ ...row, attempts: 0 })),
      }),
  },
  {
    name: 'counts an attempt when the broker is away',
    breaks: /^I8/,
    patch: () => {
      const { failed } = Breaker.prototype;
      return patched(
        vi.spyOn(Breaker.prototype, 'failed').mockImplementation(function (this: Breaker, ...args) {
          const verdict = failed.apply(this, args);
          return verdict && { ...verdict, isRowsFault: true };
        }),
      );
    },
  },
  {
    name: 'takes the answer to an older publish for a sign of life',
    breaks: /^I8/,
    patch: () => {
      const { answered } = Breaker.prototype;
      return patched(
        vi.spyOn(Breaker.prototype, 'answered').mockImplementation(function (this: Breaker) {
          answered.call(this, Number.POSITIVE_INFINITY);
        }),
      );
    },
  },
  {
    name: 'never believes that the broker is back',
    breaks: /^I7/,
    patch: () => patched(vi.spyOn(Breaker.prototype, 'answered').mockReturnValue()),
  },
  {
    name: 'lets a row overtake one that the broker was away for',
    breaks: /^I5/,
    patch: () => {
      const { ended } = BatchQueue.prototype;
      return patched(
        vi.spyOn(BatchQueue.prototype, 'ended').mockImplementation(function (
          this: BatchQueue,
          flight,
          outcome,
        ) {
          const isAway = outcome.kind === 'released' && outcome.isUnavailable;
          ended.call(this, flight, isAway ? { id: outcome.id, kind: 'dispatched' } : outcome);
        }),
      );
    },
  },
  {
    name: 'publishes rows of paused topics',
    breaks: /^I13/,
    patch: () => {
      const mends = [
        patched(vi.spyOn(PausedTopics.prototype, 'has').mockReturnValue(false)),
        patched(vi.spyOn(PausedTopics.prototype, 'list', 'get').mockReturnValue([])),
      ];
      return () => {
        for (const mend of mends) mend();
      };
    },
  },
  {
    name: 'never hears of a pause after its first claim',
    breaks: /^I13/,
    patch: () => {
      const { are } = PausedTopics.prototype;
      return patched(
        vi.spyOn(PausedTopics.prototype, 'are').mockImplementation(function (this: PausedTopics, topics) {
          if (!this.isKnown) are.call(this, topics);
        }),
      );
    },
  },
  {
    name: 'never hears of the end of a pause',
    breaks: /^I7/,
    patch: () => {
      const { are } = PausedTopics.prototype;
      return patched(
        vi.spyOn(PausedTopics.prototype, 'are').mockImplementation(function (this: PausedTopics, topics) {
          are.call(this, [...this.list, ...topics]);
        }),
      );
    },
  },
  {
    name: 'publishes faster than it may',
    breaks: /^I14/,
    patch: () => patched(vi.spyOn(RateLimits.prototype, 'take').mockReturnValue(new Set())),
  },
  {
    name: 'releases what it abandons',
    breaks: /^I6/,
    afterStop: (store, abandoned) => {
      for (const [id, token] of abandoned) store.release([id], token).catch(() => {});
    },
  },
  {
    name: 'forgets to report what it abandons',
    breaks: /^I11/,
    patch: () => patched(vi.spyOn(ClaimedBatch.prototype, 'unresolved', 'get').mockReturnValue([])),
  },
  {
    name: 'keeps unstarted claims at a stop',
    breaks: /^I11/,
    patch: () => patched(vi.spyOn(ClaimedBatch.prototype, 'releaseUnstarted').mockResolvedValue()),
  },
  {
    name: 'believes in extensions that never were',
    breaks: /^I[46]/,
    store: (store) => overriding(store, { extendClaim: async (_token, ids) => [...ids] }),
  },
  {
    name: 'never extends a claim',
    breaks: /^I6/,
    store: (store) =>
      overriding(store, { extendClaim: () => Promise.reject(new Error('the heart stands still')) }),
  },
  {
    name: 'publishes under a claim that has expired',
    breaks: /^I6/,
    patch: () => patched(vi.spyOn(ClaimLease.prototype, 'holds').mockReturnValue(true)),
  },
  {
    name: 'does not repeat a settle that failed',
    breaks: /^I6/,
    patch: () => patched(vi.spyOn(ClaimLease.prototype, 'remainingMs', 'get').mockReturnValue(0)),
  },
  {
    name: 'loses the last outcome of a batch',
    breaks: /^I(6|12)/,
    store: (store) =>
      overriding(store, {
        settle: (token, outcomes) =>
          store.settle(token, outcomes.length > 1 ? outcomes.slice(0, -1) : outcomes),
      }),
  },
  {
    name: 'tells of a death before it is true',
    breaks: /^I12/,
    store: (store, events) =>
      overriding(store, {
        settle: (token, outcomes) => {
          for (const outcome of outcomes) {
            if (outcome.kind !== 'dead' || token === undefined) continue;
            const { id, error, reason } = outcome;
            const row = { id, topic: 'plain', payload: '', claimToken: token, headers: {}, retry: {} };
            const times = { createdAt: new Date(0), availableAt: new Date(0) };
            events.emit('dead', { row: { ...row, ...times, attempts: 0, retakes: 0 }, error, reason });
          }
          return store.settle(token, outcomes);
        },
      }),
  },
  {
    name: 'counts fenced rows as settled',
    breaks: /^I12/,
    store: (store) =>
      overriding(store, {
        settle: async (token, outcomes) => {
          await store.settle(token, outcomes);
          return outcomes.map(({ id }) => id);
        },
      }),
  },
  {
    name: 'publishes although others may have taken over',
    breaks: /^I6/,
    patch: () => {
      const mends = [
        patched(
          vi.spyOn(Incarnation.prototype, 'remainingMs', 'get').mockReturnValue(Number.POSITIVE_INFINITY),
        ),
        patched(vi.spyOn(ClaimedBatch.prototype, 'lose').mockReturnValue()),
      ];
      return () => {
        for (const mend of mends) mend();
      };
    },
  },
  {
    name: 'takes over a worker that is heard of',
    breaks: /^I6/,
    patch: () => patched(vi.spyOn(WorkerWatch.prototype, 'read').mockImplementation((others) => [...others])),
  },
  {
    name: 'records a row twice, on the way and at the end',
    breaks: /^I(3|6|12)/,
    patch: () => {
      const finished = EarlySettles.prototype.finished;
      return patched(
        vi.spyOn(EarlySettles.prototype, 'finished').mockImplementation(async function (this: EarlySettles) {
          const { rows, settled } = await finished.call(this);
          return { rows: [...rows, ...rows], settled };
        }),
      );
    },
  },
];

type TableRow = NonNullable<ReturnType<MemoryTable['get']>>;

/** The same table, in which a claim does not see all. */
class TableView extends MemoryTable {
  readonly #table: MemoryTable;
  readonly #isSeen: (row: TableRow) => boolean;
  readonly #seenAs: (row: TableRow) => TableRow;

  constructor(table: MemoryTable, isSeen: (row: TableRow) => boolean, seenAs: (row: TableRow) => TableRow) {
    super({ now: () => table.now() });
    this.#table = table;
    this.#isSeen = isSeen;
    this.#seenAs = seenAs;
  }

  override rows(): TableRow[] {
    return [...this.#table.rows()].filter(this.#isSeen).map(this.#seenAs);
  }

  override get(id: string): TableRow | undefined {
    return this.#table.get(id);
  }
}

/** The same object with other methods in some places. */
function overriding<T extends object>(target: T, methods: Partial<T>): T {
  return new Proxy(target, {
    get: (_, name) => {
      const value: unknown = Reflect.get(name in methods ? methods : target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

function patched(spy: { mockRestore(): void }): () => void {
  return () => spy.mockRestore();
}
