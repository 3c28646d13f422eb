import {
  type CancelResult,
  type Clock,
  type NewRow,
  type OutboxBacklog,
  type OutboxCounts,
  OutboxError,
  type OutboxRow,
  type Outcome,
  type PeekOptions,
  type PurgeCut,
  type RequeueOptions,
  type RowFilter,
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
  backgroundClock,
  type ClaimOptions,
  createUuidv7,
  type DeadCount,
  type LookAhead,
  orderOf,
  requeueFilter,
} from '@postcommit/core/internal';
import { ClaimRunner, type TableWork } from '../claim/claim-runner.js';
import { ClaimScheduler } from '../claim/claim-scheduler.js';
import { LostClaims } from '../claim/lost-claims.js';
import type { EndState, SqlDialect, UnpublishedOutcome } from '../dialect.js';
import { postgres } from '../postgres/dialect.js';
import { inPublishOrder, toDeadCount, toOutboxRow } from '../row-mapping.js';
import type { SqlExecutor, SqlRecord } from '../sql-statement.js';
import { TableName } from '../table-name.js';
import { EnqueueHints } from './enqueue-hints.js';
import { insertError } from './insert-errors.js';
import { ALL_OPTION_NAMES, type SqlOutboxStoreOptions } from './store-options.js';

/** The tables of a store, and how to reach them. */
interface StoreDatabase<Tx> {
  readonly executor: SqlExecutor<Tx>;
  readonly dialect: SqlDialect;
  readonly table: TableName;
}

/**
 * The outbox store for SQL databases. A subclass for a driver supplies the executor that runs statements, and
 * `assertTransaction`, which recognizes the driver's open transactions.
 */
export abstract class SqlOutboxStore<Tx> extends TransactionalOutboxStore<Tx> {
  readonly #database: StoreDatabase<Tx>;
  readonly #runner: ClaimRunner;
  readonly #claims: ClaimScheduler;
  readonly #clock: Clock;
  /** Created when the first one is lost. */
  #lostClaims: LostClaims | undefined;
  readonly #hints: EnqueueHints | undefined;
  readonly #newToken = createUuidv7();

  constructor(executor: SqlExecutor<Tx>, options: SqlOutboxStoreOptions = {}) {
    assertKnownOptions('SqlOutboxStore', options, ALL_OPTION_NAMES);
    super(options);
    const { dialect = postgres, clock = backgroundClock, claimSessions: sessions } = options;
    const table = new TableName(options, dialect.quote);
    const report = (error: unknown): void => this.reportProblem(error);
    this.#database = { executor, dialect, table };
    this.#runner = new ClaimRunner({
      executor,
      dialect,
      table,
      sessions,
      claimTimeoutMs: this.claimTimeoutMs,
      clock,
      report,
    });
    this.#claims = new ClaimScheduler(this.#runner, clock);
    this.#clock = clock;
    const wakesWorkers = options.wakeup ?? true;
    if (wakesWorkers && dialect.hints) {
      const bounded: SqlExecutor<never> = (work) => this.#runner.runBounded('wake-up', () => work);
      this.#hints = new EnqueueHints(dialect.hints, table, bounded, clock);
    }
  }

  async fetchPending(limit: number, options: ClaimOptions = {}): Promise<OutboxRow[]> {
    assertLimit(limit);
    assertClaimOptions(options);
    const { exceptTopics, token = this.#newToken() } = options;
    if (this.#lostClaims) await this.#lostClaims.release();
    try {
      const timeoutMs = this.claimTimeoutMs;
      const claimed = await this.#claims.claim({ token, limit, timeoutMs, exceptTopics });
      return inPublishOrder(claimed).map((record) => toOutboxRow(record, token));
    } catch (error) {
      this.#lostClaims ??= new LostClaims(
        (lost) => this.#releaseToken(lost),
        this.claimTimeoutMs,
        this.#clock,
      );
      this.#lostClaims.add(token);
      await this.#lostClaims.release();
      throw error;
    }
  }

  #releaseToken(token: string): Promise<unknown> {
    return this.#runner.runBounded('release', (dialect, table) => dialect.releaseToken(table, token));
  }

  async settle(token: string | undefined, outcomes: readonly Outcome[]): Promise<string[]> {
    const dispatched = outcomes.filter(({ kind }) => kind === 'dispatched').map(({ id }) => id);
    const others = outcomes.filter((outcome): outcome is UnpublishedOutcome => outcome.kind !== 'dispatched');
    const ours: string[] = [];
    const add = async (work: TableWork): Promise<void> => {
      ours.push(...idsOf(await this.#runner.runBounded('settle', work)));
    };
    if (dispatched.length > 0) {
      await add((dialect, table) => dialect.settleDispatched(table, token, dispatched));
    }
    if (others.length > 0) await add((dialect, table) => dialect.settleUnpublished(table, token, others));
    if (token === undefined || ours.length === outcomes.length) return ours;
    // An earlier settle whose response was lost may have recorded the others.
    const missing = endedOutcomes(outcomes, ours);
    if (missing.length > 0) await add((dialect, table) => dialect.findReceipts(table, token, missing));
    if (ours.length === 0) this.#runner.invalidateSessions();
    return ours;
  }

  async extendClaim(token: string, ids: readonly string[]): Promise<string[]> {
    if (ids.length === 0) return [];
    const timeoutMs = this.claimTimeoutMs;
    return idsOf(
      await this.#runner.runBounded('extend', (dialect, table) =>
        dialect.extendClaim(table, token, ids, timeoutMs),
      ),
    );
  }

  async count(filter?: RowFilter): Promise<OutboxCounts> {
    if (filter) assertFilter(filter);
    const [record] = await this.#runner.run((dialect, table) => dialect.count(table, filter));
    const [pending = 0, dispatched = 0, dead = 0] = [record?.pending, record?.dispatched, record?.dead].map(
      Number,
    );
    return { pending, dispatched, dead, total: pending + dispatched + dead };
  }

  override async countDead(limit: number): Promise<DeadCount[]> {
    assertLimit(limit);
    const found = await this.#runner.run((dialect, table) => dialect.countDead(table, limit));
    return found.map(toDeadCount);
  }

  async backlog(atMost?: number): Promise<OutboxBacklog> {
    const bound = atMost === Number.POSITIVE_INFINITY ? undefined : atMost;
    if (bound !== undefined) assertLimit(bound);
    const work: TableWork = (dialect, table) => dialect.backlog(table, bound);
    // Health checks ask for a few rows; counting all of them may take its time.
    const [record] =
      bound === undefined ? await this.#runner.run(work) : await this.#runner.runBounded('inspect', work);
    return {
      pending: Number(record?.pending),
      due: Number(record?.due),
      oldestPendingAgeMs: Math.round(Number(record?.oldest_age_ms)),
    };
  }

  override async lookAhead(): Promise<LookAhead> {
    const records = await this.#runner.runBounded('inspect', (dialect, table) => dialect.lookAhead(table));
    const { in_ms: inMs = null, now_ms: nowMs } = records.find(({ now_ms }) => now_ms !== null) ?? {};
    const pausedTopics = records.flatMap(({ topic }) => (topic === null ? [] : String(topic))).sort();
    return {
      ...(inMs !== null && { nextDueInMs: Math.ceil(Number(inMs)) }),
      nowMs: Number(nowMs),
      pausedTopics,
    };
  }

  async peek(filter: RowFilter, limit: number, options?: PeekOptions): Promise<OutboxRow[]> {
    assertFilter(filter);
    assertLimit(limit);
    const order = orderOf(filter, options);
    const found = await this.#runner.run((dialect, table) => dialect.peek(table, filter, limit, order));
    return found.map((record) => toOutboxRow(record));
  }

  async requeue(id: string, options: RequeueOptions = {}): Promise<void> {
    assertRequeueOptions(options, this.pipeline);
    const found = await this.#runner.run((dialect, table) => dialect.requeue(table, id, options.retry));
    if (found.length === 0) throw new OutboxError('ROW_NOT_FOUND', `no row with id '${id}'`);
  }

  async requeueWhere(filter: RowFilter, limit: number, options: RequeueOptions = {}): Promise<number> {
    assertFilter(filter);
    assertLimit(limit);
    assertRequeueOptions(options, this.pipeline);
    const rows = requeueFilter(filter);
    const requeued = await this.#runner.run((dialect, table) =>
      dialect.requeueWhere(table, rows, limit, options.retry),
    );
    return requeued.length;
  }

  async discard(ids: readonly string[]): Promise<number> {
    if (ids.length === 0) return 0;
    return (await this.#runner.run((dialect, table) => dialect.discard(table, ids))).length;
  }

  async cancel(id: string): Promise<CancelResult> {
    const [cancelled] = await this.#runner.run((dialect, table) => dialect.cancel(table, id));
    if (!cancelled) return false;
    return cancelled.was_claimed ? 'may-still-be-published' : 'cancelled';
  }

  async purgeDispatched(olderThan: PurgeCut, filter?: PurgeFilter): Promise<number> {
    return purge(this.#runner, 'dispatched', olderThan, filter);
  }

  async purgeDead(olderThan: PurgeCut, filter?: PurgeFilter): Promise<number> {
    return purge(this.#runner, 'dead', olderThan, filter);
  }

  /**
   * Sends the wake-up still pending after a burst of enqueues, and leaves no timer behind. Call it before you close the
   * connection; store modules do so when the application stops. Never throws, and takes at most one second.
   */
  async flushWakeup(): Promise<void> {
    await this.#hints?.flush();
  }

  protected async insert(rows: readonly NewRow[], tx?: Tx): Promise<void> {
    const { executor, dialect, table } = this.#database;
    const insert = dialect.insert(table, rows);
    // Workers in this process are woken without the database.
    const hints = this.hasEnqueueListeners ? undefined : this.#hints;
    try {
      if (hints) await hints.insert(insert, rows, (statement) => executor(statement, tx));
      else await executor(insert, tx);
    } catch (error) {
      const runner = tx === undefined ? this.#runner : undefined;
      throw await insertError(error, { dialect, table, rows, runner });
    }
  }
}

type PurgeFilter = Pick<RowFilter, 'topic'>;

async function purge(
  runner: ClaimRunner,
  state: EndState,
  olderThan: PurgeCut,
  filter?: PurgeFilter,
): Promise<number> {
  assertOlderThan(olderThan);
  if (filter) assertPurgeFilter(filter);
  return inPages(async (size) =>
    deletedRows(
      await runner.run((dialect, table) => dialect.purgePage(table, state, olderThan, size, filter?.topic)),
    ),
  );
}

function idsOf(records: readonly SqlRecord[]): string[] {
  return records.map(({ id }) => id as string);
}

/** The outcomes, besides those settled, that an earlier settle may have recorded for good. */
function endedOutcomes(outcomes: readonly Outcome[], settled: readonly string[]): Outcome[] {
  const known = new Set(settled);
  return outcomes.filter(({ id, kind }) => !known.has(id) && (kind === 'dispatched' || kind === 'dead'));
}

/** Rows changed per statement, to keep locks and transactions short. */
const PAGE_SIZE = 1_000;

/** Changes page after page until one is not full; returns the total number of rows. */
export async function inPages(changePage: (pageSize: number) => Promise<number>): Promise<number> {
  let total = 0;
  for (let changed = PAGE_SIZE; changed === PAGE_SIZE; total += changed)
    changed = await changePage(PAGE_SIZE);
  return total;
}

/** The number of rows that a page of a purge deleted. */
export function deletedRows([record]: readonly SqlRecord[]): number {
  return Number(record?.deleted ?? 0);
}
