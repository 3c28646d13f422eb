import type { OutboxRow, OutboxStore, RowFilter } from '@postcommit/core';
import { envelopeOf, SCHEDULE_TOPIC } from './schedule-row.js';
import { type ScheduledMessage, toScheduledMessage } from './scheduled-message.js';

const FIRST_PAGE = 200;
const GROWTH = 8;
const LARGEST_PAGE = 2_147_483_647;

/**
 * Returns the schedules among the rows that match, in the order of `peek`. A store can't filter by the payload, so this
 * reads larger and larger pages until it has found enough or there are no more rows.
 */
export async function findSchedules(
  store: OutboxStore,
  filter: Omit<RowFilter, 'topic'>,
  wanted: { readonly limit: number; accepts(message: ScheduledMessage): boolean },
): Promise<ScheduledMessage[]> {
  for (let page = Math.max(FIRST_PAGE, wanted.limit); ; page = Math.min(page * GROWTH, LARGEST_PAGE)) {
    const rows = await store.peek({ ...filter, topic: SCHEDULE_TOPIC }, page);
    const found = rows.flatMap(readSchedule).filter((message) => wanted.accepts(message));
    if (found.length >= wanted.limit || rows.length < page || page === LARGEST_PAGE)
      return found.slice(0, wanted.limit);
  }
}

/** Returns a list of one, or an empty list if the row is not a schedule. */
function readSchedule(row: OutboxRow): ScheduledMessage[] {
  const envelope = envelopeOf(row);
  return envelope ? [toScheduledMessage(row, envelope)] : [];
}
