import { errorText } from '@postcommit/core';
import type { PgClientEvents, PgPoolLike } from './pg-client-like.js';

type Report = (error: Error) => void;

/** The stores of each pool. Weak: a pool that lives long must not keep every store that was made on it. */
const reportsOf = new WeakMap<PgPoolLike, Set<WeakRef<Report>>>();

/**
 * Listens to the errors of a pool and of its clients, once for each: an `error` event that nobody listens to ends the
 * process. Those of the pool report idle connections that were cut, by a restart of the server for example. A pool does
 * not listen to a client that somebody has checked out; the next query on it fails, so that its errors need no report.
 */
export function listenToErrors(pool: PgPoolLike): Set<WeakRef<Report>> {
  const known = reportsOf.get(pool);
  if (known) return known;
  const reports = new Set<WeakRef<Report>>();
  reportsOf.set(pool, reports);
  pool.on?.('error', (error) => tell(reports, error));
  pool.on?.('acquire', ignoreErrors);
  return reports;
}

/** Calls `report` for each error of the pool, for as long as somebody else refers to it. */
export function reportErrors(pool: PgPoolLike, report: Report): void {
  const reports = listenToErrors(pool);
  for (const reference of reports) if (!reference.deref()) reports.delete(reference);
  reports.add(new WeakRef(report));
}

function tell(reports: ReadonlySet<WeakRef<Report>>, error: Error): void {
  const living = [...reports].flatMap((reference) => reference.deref() ?? []);
  if (living.length === 0) process.emitWarning(errorText(error), 'OutboxWarning');
  for (const report of living) report(error);
}

const ignored = new WeakSet<PgClientEvents>();

/** Not by the event `connect`: a pool may have connected before it was given to a store. */
function ignoreErrors(client: PgClientEvents): void {
  if (ignored.has(client)) return;
  ignored.add(client);
  client.on('error', () => {});
}
