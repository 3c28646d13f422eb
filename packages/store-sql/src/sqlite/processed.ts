import type { ProcessedStatements } from '../capability-statements.js';
import { NOW } from './columns.js';

export const processed: ProcessedStatements = {
  remember: (table, consumer, rowId) => ({
    text: `
      insert into ${table.quoted('_processed')} (consumer, row_id, processed_at)
      values (?, ?, ${NOW})
      on conflict do nothing
      returning row_id`,
    values: [consumer, rowId],
  }),
  purgePage: (table, ageMs, pageSize) =>
    function* () {
      const deleted = yield {
        text: `
          delete from ${table.quoted('_processed')}
          where rowid in (
            select rowid from ${table.quoted('_processed')}
            where processed_at < ${NOW} - ?
            order by processed_at
            limit ?
          )
          returning row_id`,
        values: [ageMs, pageSize],
      };
      return [{ deleted: deleted.length }];
    },
};
