import type { DeadReason } from './dead-reason.js';
import type { OutboxRow } from './outbox-row.js';

/** How many rows of a topic are dead for a reason. */
export interface DeadCount {
  readonly topic: string;
  /** Absent if the row was written without one, by something else than the outbox. */
  readonly reason?: DeadReason;
  readonly count: number;
}

/** Counts dead rows by topic and reason: at most `limit` of these pairs, the most frequent first. */
export function countDead(
  rows: Iterable<Pick<OutboxRow, 'topic' | 'deadReason'>>,
  limit: number,
): DeadCount[] {
  const counts = new Map<string, DeadCount>();
  for (const { topic, deadReason: reason } of rows) {
    const pair = JSON.stringify([topic, reason]);
    const count = (counts.get(pair)?.count ?? 0) + 1;
    counts.set(pair, { topic, ...(reason && { reason }), count });
  }
  return [...counts.values()].sort((a, b) => b.count - a.count).slice(0, limit);
}
