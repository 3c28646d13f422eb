import type { OutboxStore } from '@postcommit/core';
import { SCHEDULE_TOPIC } from './schedule-row.js';

/** Which completed schedules are kept: the latest `count` of those younger than `ageMs`. */
export interface CompletedRetention {
  readonly ageMs: number;
  readonly count: number;
}

/** Specification 004: completed jobs are kept for 7 days, and at most 1,000 of them. */
export const COMPLETED_RETENTION: CompletedRetention = { ageMs: 7 * 24 * 60 * 60_000, count: 1_000 };

/** Deletes all other completed schedules. Returns how many it deleted. */
export async function purgeCompletedSchedules(
  store: OutboxStore,
  { ageMs, count }: CompletedRetention = COMPLETED_RETENTION,
): Promise<number> {
  const old = await store.purgeDispatched({ ageMs }, { topic: SCHEDULE_TOPIC });
  return old + (await store.purgeDispatched({ keepLatest: count }, { topic: SCHEDULE_TOPIC }));
}
