import {
  assertFilter,
  assertLimit,
  assertOlderThan,
  assertPurgeFilter,
  assertRequeueOptions,
  type CancelResult,
  type Clock,
  createUuidv7,
  type NewRow,
  type OptionNames,
  type OutboxBacklog,
  type OutboxCounts,
  OutboxError,
  type OutboxRow,
  type OutboxStoreOptions,
  type Outcome,
  orderOf,
  type PeekOptions,
  type PurgeCut,
  type RequeueOptions,
  type RowFilter,
  requeueFilter,
  TransactionalOutboxStore,
} from '@postcommit/core';
import { backgroundClock } from '../background-clock.js';
import type { ClaimSessions } from '../claim/claim-sessions.js';
import { KeyedClaims } from '../claim/keyed-claims.js';
import { KeyedLock } from '../claim/keyed-lock.js';
import { ResponseMonitor } from '../claim/response-monitor.js';
import { UnkeyedClaims } from '../claim/unkeyed-claims.js';
import type {
  Claim,
  EndState,
  SqlDialect,
  SqlTableOptions,
  UnkeyedClaim,
  UnpublishedOutcome,
} from '../dialect.js';
import { postgres } from '../postgres/dialect.js';
import type { SqlExecutor, SqlRecord, SqlStatement, SqlWork } from '../sql-statement.js';
import { TableName } from '../table-name.js';
import { duplicateIdError, idNamedBy, missingTableError } from './driver-errors.js';
import { inPages } from './in-pages.js';
import { NotifyDebounce } from './notify-debounce.js';
import { inPublishOrder, isRetaken, toOutboxRow } from './row-mapping.js';

export interface SqlOutboxStoreOptions extends OutboxStoreOptions, SqlTableOptions {
  /**
   * Whether an enqueue wakes workers in other processes, if the database can: by NOTIFY on PostgreSQL. Turn it off if
   * transactions must not notify; for example, PREPARE TRANSACTION rejects those that do.
   *
   * @default true
   */
  readonly wakeup?: boolean;
  /**
   * Clock for the wake-up and for searches from the front. Rows follow the database's clock.
   *
   * @default the process's clock
   */
  readonly clock?: Clock;
  /**
   * Sessions to claim rows without a key in, while one is free. Store modules set this.
   *
   * @default none: claims run on the executor
   */
  readonly claimSessions?: ClaimSessions | undefined;
}

/** The option names shared by all stores, for drivers to check theirs against. */
export const SQL_STORE_OPTION_NAMES: OptionNames<Omit<SqlOutboxStoreOptions, 'dialect'>> = {
  claimTimeoutMs: true,
  pipeline: true,
  table: true,
  schema: true,
  wakeup: true,
  clock: true,
  claimSessions: true,
};

/**
 * Above this batch size, claim a backlog on the pool. A session saves the same time for any number of rows: batches of
 * 50 drain a sixth faster, batches of 200 equally fast, and batches of 1,000 a twelfth slower, because connections that
 * alternate between claims and settles beat one for each.
 */
const MAX_SESSION_BACKLOG = 200;

/**
 * The outbox store for SQL databases. A subclass for a driver supplies the executor that runs statements, and
 * `assertTransaction`, which recognizes the driver's open transactions.
 */
export abstract class SqlOutboxStore<Tx> extends TransactionalOutboxStore<Tx> {
  readonly #dialect: SqlDialect;
  readonly #table: TableName;
  readonly #executor: SqlExecutor<Tx>;
  readonly #responses: ResponseMonitor;
  readonly #claimSessions: ClaimSessions | undefined;
  readonly #newToken = createUuidv7();
  readonly #keyed: KeyedClaims;
  readonly #unkeyed: UnkeyedClaims;
  readonly #hints: NotifyDebounce;
  readonly #wakesWorkers: boolean;

  constructor(executor: SqlExecutor<Tx>, options: SqlOutboxStoreOptions = {}) {
    super(options);
    this.#executor = executor;
    this.#dialect = options.dialect ?? postgres;
    this.#table = new TableName(options, this.#dialect.quote);
    const clock = options.clock ?? backgroundClock;
    const keyedLock = new KeyedLock({
      run: (claim) => this.#run(this.#dialect.claimKeyed(this.#table, claim)),
      ask: (statement) => this.#run(statement),
      report: (error) => this.reportProblem(error),
      table: this.#table,
      statements: this.#dialect.keyedLock,
      clock,
    });
    this.#keyed = new KeyedClaims((claim) => keyedLock.claim(claim));
    this.#responses = new ResponseMonitor(clock);
    this.#claimSessions = options.claimSessions;
    this.#unkeyed = new UnkeyedClaims((claim) => this.#claimWithoutKey(claim), clock);
    this.#wakesWorkers = options.wakeup ?? true;
    this.#hints = new NotifyDebounce(() => this.#notify(), clock);
  }

  async fetchPending(limit: number): Promise<OutboxRow[]> {
    assertLimit(limit);
    const token = this.#newToken();
    try {
      return inPublishOrder(await this.#claim(token, limit)).map((record) => toOutboxRow(record, token));
    } catch (error) {
      // The claim may have been committed although its response was lost. Nothing was published from it, so release it.
      await this.#run(this.#dialect.releaseToken(this.#table, token)).catch(() => []);
      throw error;
    }
  }

  async settle(claimToken: string | undefined, outcomes: readonly Outcome[]): Promise<string[]> {
    const dispatched = outcomes.filter(({ kind }) => kind === 'dispatched').map(({ id }) => id);
    const others = outcomes.filter((outcome): outcome is UnpublishedOutcome => outcome.kind !== 'dispatched');
    const settled: string[] = [];
    if (dispatched.length > 0) {
      settled.push(
        ...idsOf(await this.#run(this.#dialect.settleDispatched(this.#table, claimToken, dispatched))),
      );
    }
    if (others.length > 0) {
      settled.push(
        ...idsOf(await this.#run(this.#dialect.settleUnpublished(this.#table, claimToken, others))),
      );
    }
    const ours = [...settled, ...(await this.#receipts(claimToken, outcomes, settled))];
    if (claimToken !== undefined && outcomes.length > 0 && ours.length === 0)
      this.#claimSessions?.invalidate();
    return ours;
  }

  async extendClaim(claimToken: string, ids: readonly string[]): Promise<string[]> {
    if (ids.length === 0) return [];
    return idsOf(
      await this.#run(this.#dialect.extendClaim(this.#table, claimToken, ids, this.claimTimeoutMs)),
    );
  }

  async count(filter?: RowFilter): Promise<OutboxCounts> {
    if (filter) assertFilter(filter);
    const [record] = await this.#run(this.#dialect.count(this.#table, filter));
    const [pending = 0, dispatched = 0, dead = 0] = [record?.pending, record?.dispatched, record?.dead].map(
      Number,
    );
    return { pending, dispatched, dead, total: pending + dispatched + dead };
  }

  async backlog(atMost?: number): Promise<OutboxBacklog> {
    const isBounded = atMost !== undefined && atMost !== Number.POSITIVE_INFINITY;
    if (isBounded) assertLimit(atMost);
    const [record] = await this.#run(this.#dialect.backlog(this.#table, isBounded ? atMost : undefined));
    return {
      pending: Number(record?.pending),
      due: Number(record?.due),
      oldestPendingAgeMs: Math.round(Number(record?.oldest_age_ms)),
    };
  }

  async peek(filter: RowFilter, limit: number, options?: PeekOptions): Promise<OutboxRow[]> {
    assertFilter(filter);
    assertLimit(limit);
    const records = await this.#run(this.#dialect.peek(this.#table, filter, limit, orderOf(filter, options)));
    return records.map((record) => toOutboxRow(record));
  }

  async requeue(id: string, options: RequeueOptions = {}): Promise<void> {
    assertRequeueOptions(options);
    const found = await this.#run(this.#dialect.requeue(this.#table, id, options.retry));
    if (found.length === 0) throw new OutboxError('ROW_NOT_FOUND', `no row with id '${id}'`);
  }

  async requeueWhere(filter: RowFilter, limit: number, options: RequeueOptions = {}): Promise<number> {
    assertFilter(filter);
    assertLimit(limit);
    assertRequeueOptions(options);
    const work = this.#dialect.requeueWhere(this.#table, requeueFilter(filter), limit, options.retry);
    return (await this.#run(work)).length;
  }

  async discard(ids: readonly string[]): Promise<number> {
    if (ids.length === 0) return 0;
    return (await this.#run(this.#dialect.discard(this.#table, ids))).length;
  }

  async cancel(id: string): Promise<CancelResult> {
    const [cancelled] = await this.#run(this.#dialect.cancel(this.#table, id));
    if (!cancelled) return false;
    return cancelled.was_claimed ? 'may-still-be-published' : 'cancelled';
  }

  purgeDispatched(olderThan: PurgeCut, filter?: Pick<RowFilter, 'topic'>): Promise<number> {
    return this.#purge('dispatched', olderThan, filter);
  }

  purgeDead(olderThan: PurgeCut, filter?: Pick<RowFilter, 'topic'>): Promise<number> {
    return this.#purge('dead', olderThan, filter);
  }

  /**
   * Sends the wake-up still pending after a burst of enqueues, and leaves no timer behind. Call it before you close the
   * connection; store modules do so when the application stops. Never throws, and takes at most one second.
   */
  flushWakeup(): Promise<void> {
    return this.#hints.flush();
  }

  protected async insert(rows: readonly NewRow[], tx?: Tx): Promise<void> {
    const insert = this.#dialect.insert(this.#table, rows);
    try {
      await this.#executor(this.#withHint(insert, rows), tx);
    } catch (error) {
      const fault = this.#dialect.faultOf(error);
      if (fault === 'duplicate') throw duplicateIdError(await this.#takenId(error, rows, tx), error);
      throw missingTableError(fault, this.#table, error) ?? error;
    }
  }

  /** Workers in this process are woken without the database; rows scheduled for later are found when they fall due. */
  #withHint(insert: SqlStatement, rows: readonly NewRow[]): SqlStatement {
    if (!this.#wakesWorkers || this.hasEnqueueListeners || !this.#dialect.notify || !rows.some(isDue)) {
      return insert;
    }
    return this.#hints.admit() ? this.#dialect.notify(this.#table, insert) : insert;
  }

  async #notify(): Promise<void> {
    if (this.#dialect.notify) await this.#executor(this.#dialect.notify(this.#table));
  }

  async #purge(state: EndState, olderThan: PurgeCut, filter: Pick<RowFilter, 'topic'> = {}): Promise<number> {
    assertOlderThan(olderThan);
    assertPurgeFilter(filter);
    const { topic } = filter;
    return inPages((pageSize) =>
      this.#run(this.#dialect.purgePage(this.#table, state, olderThan, pageSize, topic)),
    );
  }

  /** Queries only if the error doesn't name the id, and never in the caller's transaction, which is aborted by now. */
  async #takenId(error: unknown, rows: readonly NewRow[], tx: Tx | undefined): Promise<string | undefined> {
    const named = idNamedBy(error, rows);
    if (named !== undefined || tx !== undefined) return named;
    const ids = rows.map(({ id }) => id);
    const [taken] = await this.#run(this.#dialect.findExisting(this.#table, ids)).catch(() => []);
    return taken?.id as string | undefined;
  }

  /** Rows with and without a key take turns at being claimed first; a retaken row is claimed alone. */
  async #claim(token: string, limit: number): Promise<SqlRecord[]> {
    const claim = { token, timeoutMs: this.claimTimeoutMs };
    const keyedFirst = this.#keyed.takeTurn();
    const first = keyedFirst ? await this.#keyed.claim({ ...claim, limit, mayRetake: true }) : [];
    if (first.length === limit || isRetaken(first)) return first;
    const unkeyed = await this.#claimUnkeyed({
      ...claim,
      limit: limit - first.length,
      mayRetake: first.length === 0,
    });
    const claimed = [...first, ...unkeyed];
    if (keyedFirst || claimed.length === limit || isRetaken(claimed) || !this.#keyed.areDue) return claimed;
    const rest = await this.#keyed.claim({
      ...claim,
      limit: limit - claimed.length,
      mayRetake: claimed.length === 0,
    });
    return [...claimed, ...rest];
  }

  async #claimUnkeyed(claim: Claim): Promise<SqlRecord[]> {
    const { rows, areKeyedDue } = await this.#unkeyed.claim(claim);
    this.#keyed.areDue = areKeyedDue;
    this.#keyed.shareWithUnkeyed = rows.length === claim.limit;
    return rows;
  }

  /** Returns ids that an earlier settle under this token recorded. Queries only when some are missing. */
  async #receipts(
    token: string | undefined,
    outcomes: readonly Outcome[],
    settled: readonly string[],
  ): Promise<string[]> {
    if (token === undefined || settled.length === outcomes.length) return [];
    const known = new Set(settled);
    const missing = outcomes.filter(
      ({ id, kind }) => !known.has(id) && (kind === 'dispatched' || kind === 'dead'),
    );
    if (missing.length === 0) return [];
    return idsOf(await this.#run(this.#dialect.findReceipts(this.#table, token, missing)));
  }

  #claimWithoutKey(claim: UnkeyedClaim): Promise<SqlRecord[]> {
    const work = this.#dialect.claimUnkeyed(this.#table, claim);
    const session = this.#maySessionClaim(claim) ? this.#claimSessions : undefined;
    const inSession = typeof work === 'function' ? undefined : session?.claim(work);
    return inSession === undefined ? this.#run(work) : this.#watched(inSession);
  }

  /** While the database can't settle rows, more claims would only expire and be published again. */
  #maySessionClaim({ isBacklog, limit }: UnkeyedClaim): boolean {
    return this.#responses.isResponding && !(isBacklog && limit > MAX_SESSION_BACKLOG);
  }

  #run(work: SqlWork): Promise<SqlRecord[]> {
    return this.#watched(this.#executor(work));
  }

  async #watched(response: Promise<SqlRecord[]>): Promise<SqlRecord[]> {
    try {
      return await this.#responses.watch(response);
    } catch (error) {
      throw missingTableError(this.#dialect.faultOf(error), this.#table, error) ?? error;
    }
  }
}

function idsOf(records: readonly SqlRecord[]): string[] {
  return records.map(({ id }) => id as string);
}

/** Uses this process's clock, which is good enough for a hint. */
function isDue({ availableAt }: NewRow): boolean {
  return availableAt === undefined || availableAt.getTime() <= Date.now();
}
