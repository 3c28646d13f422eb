import { notATransaction } from '@postcommit/core';
import { assertKnownOptions, errorText, nameToken } from '@postcommit/core/internal';
import {
  runWork,
  SQL_STORE_OPTION_NAMES,
  type SqlExecutor,
  SqlOutboxStore,
  type SqlOutboxStoreOptions,
  type SqlRecord,
  type SqlStatement,
} from '@postcommit/store-sql';
import { assertPool } from './assert-pool.js';
import type { PgClientEvents, PgClientLike, PgPoolLike } from './pg-client-like.js';
import { inTransaction, runBounded, toQuery } from './pooled-work.js';

export type PgOutboxStoreOptions = Omit<SqlOutboxStoreOptions, 'dialect'>;

/**
 * Stores the outbox in PostgreSQL, through a `pg` pool. `enqueueWith` takes the client that ran BEGIN. The store never
 * closes the pool; it reports the pool's `error` events (lost idle connections) to the listeners of `onProblem`.
 */
export class PgOutboxStore extends SqlOutboxStore<PgClientLike> {
  static {
    nameToken(this, '@postcommit/store-pg/PgOutboxStore');
  }

  // A field keeps it alive: the pool holds it by a weak reference.
  readonly #report = (error: Error): void => this.reportProblem(error);

  /** @throws `INVALID_CONFIG` if `pool` is not a pool, or its `connectionString` is not for PostgreSQL. */
  constructor(pool: PgPoolLike, options: PgOutboxStoreOptions = {}) {
    assertKnownOptions('PgOutboxStore', options, SQL_STORE_OPTION_NAMES);
    super(pgExecutor(pool), options);
    reportErrors(pool, this.#report);
  }

  protected assertTransaction(client: PgClientLike): void {
    if ('totalCount' in client) throw notATransaction('enqueueWith was given a pg Pool');
    const status = client.getTransactionStatus?.();
    if (status === 'I')
      throw notATransaction('enqueueWith was given a pg client that is not in a transaction');
  }
}

/**
 * Runs statements on a pool, or on the client of the caller's transaction. Handles the pool's `error` events, so that a
 * lost idle connection does not crash the process.
 *
 * @throws `INVALID_CONFIG` if `pool` is not a pool, or its `connectionString` is not for PostgreSQL.
 */
export function pgExecutor(pool: PgPoolLike): SqlExecutor<PgClientLike> {
  assertPool(pool);
  listenToErrors(pool);
  return async (work, tx, bound) => {
    if (tx) return runWork(work, (step) => queryIn(tx, step));
    if (bound) return runBounded(pool, work, bound);
    return typeof work === 'function' ? inTransaction(pool, work) : (await pool.query(toQuery(work))).rows;
  };
}

async function queryIn(tx: PgClientLike, { text, values }: SqlStatement): Promise<SqlRecord[]> {
  return (await tx.query(text, [...values])).rows;
}

type Report = (error: Error) => void;

/** The error reporters of each pool. Weak, so that a long-lived pool does not keep every store created on it. */
const reportsOf = new WeakMap<PgPoolLike, Set<WeakRef<Report>>>();

/**
 * Handles the `error` events of a pool and of its clients, with one listener each: an unhandled one crashes the process.
 * A pool emits them for lost idle connections, e.g. after a server restart, but not for checked-out clients. Errors of
 * those are ignored, because the next query on the client fails too.
 */
export function listenToErrors(pool: PgPoolLike): Set<WeakRef<Report>> {
  const known = reportsOf.get(pool);
  if (known) return known;
  const reports = new Set<WeakRef<Report>>();
  reportsOf.set(pool, reports);
  pool.on?.('error', (error) => reportToAll(reports, error));
  pool.on?.('acquire', ignoreErrors);
  return reports;
}

/** Calls `report` for each error of the pool, as long as the caller keeps a reference to `report`. */
export function reportErrors(pool: PgPoolLike, report: Report): void {
  const reports = listenToErrors(pool);
  for (const reference of reports) if (!reference.deref()) reports.delete(reference);
  reports.add(new WeakRef(report));
}

function reportToAll(reports: ReadonlySet<WeakRef<Report>>, error: Error): void {
  const living = [...reports].flatMap((reference) => reference.deref() ?? []);
  if (living.length === 0) process.emitWarning(errorText(error), 'OutboxWarning');
  for (const report of living) report(error);
}

const ignored = new WeakSet<PgClientEvents>();

/** On `acquire`, not `connect`: the pool may have connected before a store was created on it. */
function ignoreErrors(client: PgClientEvents): void {
  if (ignored.has(client)) return;
  ignored.add(client);
  client.on('error', () => {});
}
