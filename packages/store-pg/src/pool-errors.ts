import { errorText } from '@postcommit/core';
import type { PgClientEvents, PgPoolLike } from './pg-client-like.js';

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
