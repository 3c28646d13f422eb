import type { SqlRecord } from '../sql-statement.js';

/** Rows deleted per statement, to keep locks and transactions short. */
const PAGE_SIZE = 1_000;

/** Deletes page after page until one is not full; returns the total number of rows deleted. */
export async function inPages(deletePage: (pageSize: number) => Promise<SqlRecord[]>): Promise<number> {
  let total = 0;
  for (let deleted = PAGE_SIZE; deleted === PAGE_SIZE; total += deleted) {
    const [record] = await deletePage(PAGE_SIZE);
    deleted = Number(record?.deleted ?? 0);
  }
  return total;
}
