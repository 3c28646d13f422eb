import type { Clock } from '@postcommit/core';
import type { Claim, DuePlace, ExceptClaim, KeyedClaim, SqlDialect, UnkeyedClaim } from '../dialect.js';
import { missingTableError } from '../driver-errors.js';
import { isRetaken } from '../row-mapping.js';
import { BoundedStatements, type BoundedWork } from '../run-work.js';
import type { SqlExecutor, SqlRecord, SqlWork } from '../sql-statement.js';
import type { TableName } from '../table-name.js';
import type { ClaimSessions } from './claim-sessions.js';
import { KeyedLock } from './keyed-lock.js';

/** Work on the tables of a store, in the words of its dialect. */
export type TableWork = (dialect: SqlDialect, table: TableName) => SqlWork;

/** The same, when the limit that the server gets is known. */
export type BoundedTableWork = (dialect: SqlDialect, table: TableName, serverMs: number) => SqlWork;

/** What a claim of rows without a key found. */
export interface ClaimAnswer {
  readonly rows: SqlRecord[];
  /** Whether rows with a key are due. */
  readonly keyedDue: boolean;
}

/** What a claim of rows without a key found in one window. */
export interface WindowAnswer extends ClaimAnswer {
  readonly window: ClaimWindow;
}

/** The due rows that a claim examined: how many, and where the last one is. */
export interface ClaimWindow {
  readonly rows: number;
  readonly last?: DuePlace;
}

/** A claim that leaves out topics, and whether the last one filled its batch. */
export type ExceptRequest = ExceptClaim & Pick<UnkeyedClaim, 'isBacklog'>;

/** A claim of rows with a key, whatever its limits. */
export type KeyedRequest = Omit<KeyedClaim, 'lockWaitMs' | 'serverMs'>;

/** What a claim of rows with a key found. */
export interface KeyedAnswer {
  readonly rows: SqlRecord[];
  /** Has `last` only if no row could be claimed. */
  readonly window: ClaimWindow;
  /** If the window is full and no row could be claimed: its keys, and all that are claimed. */
  readonly blockedKeys: readonly string[];
  /** The parked keys without a pending row. */
  readonly emptyKeys: readonly string[];
}

/**
 * Above this batch size, claim a backlog on the pool. A session saves the same time for any number of rows: batches of
 * 50 drain a sixth faster, batches of 200 equally fast, and batches of 1,000 a twelfth slower, because connections that
 * alternate between claims and settles beat one for each.
 */
const MAX_SESSION_BACKLOG = 200;

export interface ClaimRunnerOptions {
  readonly executor: SqlExecutor<never>;
  readonly dialect: SqlDialect;
  readonly table: TableName;
  readonly sessions: ClaimSessions | undefined;
  readonly claimTimeoutMs: number;
  readonly clock: Clock;
  /** Receives what no claim throws: that rows with a key wait for a lock held by somebody else. */
  readonly report: (error: unknown) => void;
}

/**
 * Runs the claims that the scheduler decides on, each as one piece of work: those of rows without a key in a free session,
 * if there is one, all others on the pool.
 */
export class ClaimRunner {
  readonly #options: ClaimRunnerOptions;
  readonly #keyedLock: KeyedLock;
  readonly #statements: BoundedStatements;
  readonly #responses: ResponseMonitor;

  constructor(options: ClaimRunnerOptions) {
    const { table, dialect, clock, report } = options;
    this.#options = options;
    this.#statements = new BoundedStatements(options);
    this.#responses = new ResponseMonitor(clock);
    this.#keyedLock = new KeyedLock({
      ask: (statement) => this.runBounded('inspect', () => statement),
      statements: dialect.keyedLock,
      table,
      clock,
      report,
    });
  }

  async claimUnkeyed(claim: UnkeyedClaim): Promise<ClaimAnswer> {
    const { dialect, table } = this.#options;
    const work = dialect.claimUnkeyed(table, claim);
    const records = await this.#claim(work, claim);
    return { rows: rowsOf(records), keyedDue: records[0]?.keyed_due === true };
  }

  async claimUnkeyedExcept(claim: ExceptRequest): Promise<WindowAnswer> {
    const { dialect, table } = this.#options;
    const work = dialect.claimUnkeyedExcept(table, claim);
    const records = await this.#claim(work, claim);
    const keyedDue = records[0]?.keyed_due === true;
    return { rows: rowsOf(records), keyedDue, window: windowOf(records) };
  }

  /** Returns undefined when the lock of keyed claims is unavailable. */
  claimKeyed(request: KeyedRequest): Promise<KeyedAnswer | undefined> {
    return this.#keyedLock.within(async (lockWaitMs) => {
      const records = await this.runBounded('keyed claim', (dialect, table, serverMs) =>
        dialect.claimKeyed(table, { ...request, lockWaitMs, serverMs }),
      );
      const [first] = records;
      return {
        rows: rowsOf(records),
        window: windowOf(records),
        blockedKeys: keysOf(first?.blocked_keys),
        emptyKeys: keysOf(first?.empty_keys),
      };
    });
  }

  /** Runs work on the pool that a worker waits for. */
  runBounded(kind: BoundedWork, work: BoundedTableWork): Promise<SqlRecord[]> {
    const { dialect, table } = this.#options;
    return this.#watched(this.#statements.run(kind, (serverMs) => work(dialect, table, serverMs)));
  }

  /** Returns, in the order of the keys, those behind `after` that have a pending row: at most `limit`, none at the end. */
  async pendingKeys(after: string | undefined, limit: number): Promise<string[]> {
    const records = await this.run((dialect, table) => dialect.pendingKeys(table, after, limit));
    return records.map(({ key }) => String(key));
  }

  /** Runs any other work of the store on the pool: all of it shows whether the pool responds. */
  run(work: TableWork): Promise<SqlRecord[]> {
    const { dialect, table, executor } = this.#options;
    return this.#watched(executor(work(dialect, table)));
  }

  /** After a failover, for example, the pool may be on a different server than a session opened before it. */
  invalidateSessions(): void {
    for (const session of this.#options.sessions ?? []) session.invalidate();
  }

  #claim(work: SqlWork, size: Pick<UnkeyedClaim, 'isBacklog' | 'limit'>): Promise<SqlRecord[]> {
    const inSession = this.#claimInSession(work, size);
    return this.#watched(inSession ?? this.#statements.run('claim', () => work));
  }

  /**
   * Claims in the first free session; returns undefined if the claim must run on the pool. While the pool can't settle
   * rows, more claims would only expire and be published again, so no session claims then.
   */
  #claimInSession(
    work: SqlWork,
    { isBacklog, limit }: Pick<UnkeyedClaim, 'isBacklog' | 'limit'>,
  ): Promise<SqlRecord[]> | undefined {
    const { sessions } = this.#options;
    if (!sessions || typeof work === 'function' || !this.#responses.isResponding) return undefined;
    if (isBacklog && limit > MAX_SESSION_BACKLOG) return undefined;
    for (const session of sessions) {
      const claiming = session.claim(work);
      if (claiming !== undefined) return claiming;
    }
    return undefined;
  }

  async #watched(response: Promise<SqlRecord[]>): Promise<SqlRecord[]> {
    try {
      return await this.#responses.watch(response);
    } catch (error) {
      const { dialect, table } = this.#options;
      throw missingTableError(dialect.faultOf(error), table, error) ?? error;
    }
  }
}

/** A record without `id` only carries what the claim saw. */
function rowsOf(records: readonly SqlRecord[]): SqlRecord[] {
  return records.filter(({ id }) => id !== null);
}

function windowOf([first]: readonly SqlRecord[]): ClaimWindow {
  const rows = Number(first?.window_rows);
  const last = placeOf(first?.last_available_at, first?.last_seq);
  return last ? { rows, last } : { rows };
}

function keysOf(json: unknown): string[] {
  return json == null ? [] : JSON.parse(String(json));
}

function placeOf(availableAt: unknown, seq: unknown): DuePlace | undefined {
  return seq == null ? undefined : { availableAt: String(availableAt), seq: String(seq) };
}

/** Whether nothing may be added: a retaken row stays alone. */
export function isComplete(rows: readonly SqlRecord[], { limit }: Claim): boolean {
  return rows.length === limit || isRetaken(rows);
}

/** What is left to claim after these rows. */
export function restOf(claim: Claim, { length }: readonly SqlRecord[]): Claim {
  return { ...claim, limit: claim.limit - length, mayRetake: claim.mayRetake && length === 0 };
}

/** A request that waits this long for its response counts as a sign that the database is not responding. */
export const UNRESPONSIVE_AFTER_MS = 1_000;

/** Watches requests to know whether the database responds at present. */
export class ResponseMonitor {
  readonly #clock: Clock;
  /** Oldest first. */
  readonly #pending = new Set<{ readonly sentAtMs: number }>();
  #lastFailed = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** False while a request is overdue, and after one that failed until the next one succeeds. */
  get isResponding(): boolean {
    const [oldest] = this.#pending;
    const isLate =
      oldest !== undefined && this.#clock.monotonicMs() - oldest.sentAtMs >= UNRESPONSIVE_AFTER_MS;
    return !(isLate || this.#lastFailed);
  }

  /** Returns what `response` resolves or rejects with. */
  async watch<T>(response: Promise<T>): Promise<T> {
    const request = { sentAtMs: this.#clock.monotonicMs() };
    this.#pending.add(request);
    try {
      const result = await response;
      this.#lastFailed = false;
      return result;
    } catch (error) {
      this.#lastFailed = true;
      throw error;
    } finally {
      this.#pending.delete(request);
    }
  }
}
