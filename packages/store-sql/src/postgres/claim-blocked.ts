import type { TableName } from '../table-name.js';
import { PENDING } from './columns.js';

/** Bounds the cost. The sweep finds the rows of other keys, only later. */
const MAX_IN_FLIGHT = 10_000;

/**
 * If the window of the parameter's size is full and has no claimable row: its keys, and those of rows in flight, which
 * are not in it, but whose claims may end when the search is behind them.
 */
export function blockedKeys(table: TableName, window: string): string {
  return `
        select json_agg(k.key)::text as blocked_keys
        from (
          select key from keys
          union
          (${keysInFlight(table)})
        ) k
        where w.window_rows = ${window}::int and not exists (select from claimed)`;
}

/** Goes from key to key in the index, however many rows of one are claimed; without statistics, no other plan does. */
function keysInFlight(table: TableName): string {
  const next = (isNext: string): string =>
    `select claimed_key from ${table.sql} where ${isNext} order by claimed_key limit 1`;
  return `
            with recursive f (key) as (
              (${next('claimed_key is not null')})
              union all
              select (${next('claimed_key > f.key')}) from f where f.key is not null
            )
            select key from f where key is not null limit ${MAX_IN_FLIGHT}
          `;
}

/** The parked keys without a pending row. With ORDER BY, the planner uses the index even if it takes the key for a frequent one. */
export function emptyKeys(table: TableName, parked: string | undefined): string {
  if (!parked) return 'select null as empty_keys';
  return `
        select json_agg(k.key)::text as empty_keys
        from unnest(${parked}::varchar[]) k (key)
        where not exists (select from claimed) and (
          select o.seq from ${table.sql} o where o.key = k.key and ${PENDING} order by o.seq limit 1
        ) is null`;
}
