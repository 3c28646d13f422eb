import type { History } from './history.js';

/** All that the ledger heard of one row or order, and the faults around it, in order: where to look first. */
export function storyOf(history: History, name: string): string {
  const rowIds = new Set(
    history.rows.flatMap(({ id, orderId }) => (orderId === name || id === name ? [id] : [])),
  );
  const isIt = (record: { rowId?: string; orderId?: string }): boolean =>
    record.orderId === name ||
    (record.rowId !== undefined && (record.rowId === name || rowIds.has(record.rowId)));
  const { intents, commits, claims, settles, publishes, operations } = history;
  const lines = Object.entries({ intents, commits, claims, settles, publishes, operations }).flatMap(
    ([what, records]) => records.filter(isIt).map((record) => ({ what, ...record })),
  );
  const faults = history.faults.map(({ began, what, process, ended }) => ({
    what: `fault until ${ended}:`,
    moment: began,
    fault: what,
    process: process ?? 'all',
  }));
  return [...lines, ...faults]
    .sort((a, b) => a.moment - b.moment)
    .map(({ what, moment, ...record }) => `  ${moment} ${what} ${Object.values(record).join(' ')}`)
    .join('\n');
}
