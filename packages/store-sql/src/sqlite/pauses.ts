import type { PauseStatements } from '../capability-statements.js';
import { NOW } from './columns.js';

/** SQLite can't wake workers: they see what is paused at their next look. */
export const pauses: PauseStatements = {
  pause: (table, topic) => ({
    text: `
      insert into ${table.quoted('_paused')} (topic, paused_at)
      values (?, ${NOW})
      on conflict do nothing
      returning topic`,
    values: [topic],
  }),
  resume: (table, topic) => ({
    text: `delete from ${table.quoted('_paused')} where topic = ? returning topic`,
    values: [topic],
  }),
  list: (table) => ({
    text: `select topic, max(0, ${NOW} - paused_at) as since_ms from ${table.quoted('_paused')}`,
    values: [],
  }),
};
