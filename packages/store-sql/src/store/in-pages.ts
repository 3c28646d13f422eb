import type { SqlRecord } from '../sql-statement.js';

/** Rows changed per statement, to keep locks and transactions short. */
const PAGE_SIZE = 1_000;

/** Changes page after page until one is not full; returns the total number of rows. */
export async function inPages(changePage: (pageSize: number) => Promise<number>): Promise<number> {
  let total = 0;
  for (let changed = PAGE_SIZE; changed === PAGE_SIZE; total += changed)
    changed = await changePage(PAGE_SIZE);
  return total;
}

/** The number of rows that a page of a purge deleted. */
export function deletedRows([record]: readonly SqlRecord[]): number {
  return Number(record?.deleted ?? 0);
}
