import type { ProcessedStatements } from '../capability-statements.js';
import { NOW } from './columns.js';
import { faultOf } from './faults.js';

export const processed: ProcessedStatements = {
  /** A duplicate rolls back only this statement, not the caller's transaction. INSERT IGNORE would hide other errors. */
  remember: (table, consumer, rowId) =>
    function* () {
      try {
        yield {
          text: `insert into ${table.quoted('_processed')} (consumer, row_id, processed_at) values (?, ?, ${NOW})`,
          values: [consumer, rowId],
        };
      } catch (error) {
        if (faultOf(error) === 'duplicate') return [];
        throw error;
      }
      return [{ row_id: rowId }];
    },
  purgePage: (table, ageMs, pageSize) =>
    function* () {
      const old = yield {
        text: `
          select consumer, row_id
          from ${table.quoted('_processed')}
          where processed_at < ${NOW} - interval (? * 1000) microsecond
          order by processed_at
          limit ?
          for update skip locked`,
        values: [ageMs, pageSize],
      };
      if (old.length > 0) {
        yield {
          text: `delete from ${table.quoted('_processed')} where ${old.map(() => '(consumer = ? and row_id = ?)').join(' or ')}`,
          values: old.flatMap(({ consumer, row_id }) => [consumer, row_id]),
        };
      }
      return [{ deleted: old.length }];
    },
};
