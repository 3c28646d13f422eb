import type { PauseStatements } from '../capability-statements.js';
import { NOW } from './columns.js';
import { faultOf } from './faults.js';

/** The server can't wake workers: they see what is paused at their next look. */
export const pauses: PauseStatements = {
  pause: (table, topic) =>
    function* () {
      try {
        yield {
          text: `insert into ${table.quoted('_paused')} (topic, paused_at) values (?, ${NOW})`,
          values: [topic],
        };
      } catch (error) {
        if (faultOf(error) === 'duplicate') return [];
        throw error;
      }
      return [{ topic }];
    },
  resume: (table, topic) =>
    function* () {
      const paused = yield {
        text: `select topic from ${table.quoted('_paused')} where topic = ? for update`,
        values: [topic],
      };
      if (paused.length === 0) return [];
      yield { text: `delete from ${table.quoted('_paused')} where topic = ?`, values: [topic] };
      return paused;
    },
  list: (table) => ({
    text: `
      select topic, greatest(0, timestampdiff(microsecond, paused_at, ${NOW})) / 1e3 as since_ms
      from ${table.quoted('_paused')}`,
    values: [],
  }),
};
