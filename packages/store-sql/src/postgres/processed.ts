import type { ProcessedStatements } from '../capability-statements.js';
import { isAt, PLACES } from './columns.js';

const IS_OLD = `processed_at < now() - $1::float8 * interval '1 millisecond'`;

export const processed: ProcessedStatements = {
  remember: (table, consumer, rowId) => ({
    text: `
      insert into ${table.quoted('_processed')} (consumer, row_id)
      values ($1, $2)
      on conflict do nothing
      returning row_id`,
    values: [consumer, rowId],
  }),
  purgePage: (table, ageMs, pageSize) => ({
    text: `
      with old as materialized (
        select ${PLACES}
        from (
          select tableoid, ctid from ${table.quoted('_processed')}
          where ${IS_OLD}
          order by processed_at
          limit $2::int
          for update skip locked
        ) page
      ), deleted as (
        delete from ${table.quoted('_processed')} as o
        where ${isAt('old', IS_OLD)}
        returning 1
      )
      select count(*)::int as deleted from deleted`,
    values: [ageMs, pageSize],
  }),
};
