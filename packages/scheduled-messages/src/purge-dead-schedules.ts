import type { OutboxStore } from '@postcommit/core';
import { assertOlderThan } from '@postcommit/core/internal';
import { isScheduleRow, SCHEDULE_TOPIC } from './schedule-row.js';

/** Specification 004: failed jobs are kept for 30 days. */
export const DEAD_RETENTION_MS = 30 * 24 * 60 * 60_000;
const PAGE = 1_000;

/** Deletes page by page, so that no statement holds locks for long. Leaves other rows of the application alone. */
export async function purgeDeadSchedules(
  store: OutboxStore,
  endedBefore: Date = new Date(Date.now() - DEAD_RETENTION_MS),
): Promise<number> {
  assertOlderThan(endedBefore);
  let purged = 0;
  for (;;) {
    const rows = await store.peek({ topic: SCHEDULE_TOPIC, state: 'dead', deadBefore: endedBefore }, PAGE);
    const gone = await store.discard(rows.filter(isScheduleRow).map(({ id }) => id));
    purged += gone;
    // Nothing deleted: the rest are not schedules, or another instance was faster.
    if (rows.length < PAGE || gone === 0) return purged;
  }
}
