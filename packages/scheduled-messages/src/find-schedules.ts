import type { OutboxRow, OutboxStore, RowFilter } from '@postcommit/core';
import { envelopeOf, SCHEDULE_TOPIC } from './schedule-row.js';
import { type ScheduledMessage, toScheduledMessage } from './scheduled-message.js';

const FIRST_LOOK = 200;
const GROWTH = 8;
const LARGEST_LOOK = 2_147_483_647;

/**
 * The schedules among the rows that match, in the order of `peek`. A store can't filter by what is inside a row, so it
 * is asked for more until there are enough, or no more.
 */
export async function findSchedules(
  store: OutboxStore,
  filter: Omit<RowFilter, 'topic'>,
  wanted: { readonly limit: number; accepts(message: ScheduledMessage): boolean },
): Promise<ScheduledMessage[]> {
  for (let look = Math.max(FIRST_LOOK, wanted.limit); ; look = Math.min(look * GROWTH, LARGEST_LOOK)) {
    const rows = await store.peek({ ...filter, topic: SCHEDULE_TOPIC }, look);
    const found = rows.flatMap(readSchedule).filter((message) => wanted.accepts(message));
    if (found.length >= wanted.limit || rows.length < look || look === LARGEST_LOOK)
      return found.slice(0, wanted.limit);
  }
}

/** A list of one, or of none where the row is somebody else's. */
function readSchedule(row: OutboxRow): ScheduledMessage[] {
  const envelope = envelopeOf(row);
  return envelope ? [toScheduledMessage(row, envelope)] : [];
}
