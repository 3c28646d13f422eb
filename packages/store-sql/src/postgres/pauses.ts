import type { PauseStatements } from '../capability-statements.js';
import { exactMs, NOW } from './columns.js';
import { notifyForEach } from './listen/notify.js';

/** Workers look at what is paused when they are woken. */
export const pauses: PauseStatements = {
  pause: (table, topic) =>
    notifyForEach(table, {
      text: `
        insert into ${table.quoted('_paused')} (topic)
        values ($1)
        on conflict do nothing
        returning topic`,
      values: [topic],
    }),
  resume: (table, topic) =>
    notifyForEach(table, {
      text: `delete from ${table.quoted('_paused')} where topic = $1 returning topic`,
      values: [topic],
    }),
  list: (table) => ({
    text: `
      select topic, ${exactMs(`greatest(interval '0', ${NOW} - paused_at)`)} as since_ms
      from ${table.quoted('_paused')}`,
    values: [],
  }),
};
