import type { ExceptClaim } from '../dialect.js';
import type { SqlStatement } from '../sql-statement.js';
import type { TableName } from '../table-name.js';
import { CHOSEN, CLAIM_SETTINGS, claimed, isBehind, keyedDue } from './claim.js';
import { isKept, NOW, PENDING, placeMicroseconds } from './columns.js';

/**
 * Claims the oldest due rows without a key, except those of some topics. The index does not know topics, so a search for
 * the others could walk through any number of rows. It looks at one window of the index first, without locks, then claims
 * only within that window, and nothing if all of it is left out.
 *
 * A window that is no larger than the batch is expected to be claimed as a whole, so all of it is locked at once.
 */
export function claimUnkeyedExcept(table: TableName, claim: ExceptClaim): SqlStatement {
  const { token, timeoutMs, limit, mayRetake, window, exceptTopics, after } = claim;
  const due = `
        from ${table.sql}
        where ${PENDING} and key is null
          and available_at <= ${NOW}
          and (claimed_until is null or ($4::boolean and claimed_until <= ${NOW}))
          ${after ? isBehind('$7', '$8') : ''}`;
  return {
    text: `
      with ${window <= limit ? lockedWindow(due) : lookedAtWindow(due)}
      ), chosen as materialized (${CHOSEN}
      ), claimed as (${claimed(table)}
      )
      select k.*, ${placeMicroseconds('e.available_at')} as last_available_at, e.seq::text as last_seq, c.*
      from (
        select (${keyedDue(table)}) as keyed_due, (select count(*)::int from due_window) as window_rows
        where ${CLAIM_SETTINGS} is not null
      ) k
      left join window_end e on true
      left join claimed c on true`,
    values: [
      token,
      timeoutMs,
      limit,
      mayRetake,
      window,
      exceptTopics,
      ...(after ? [after.availableAt, after.seq] : []),
    ],
  };
}

const WINDOW_END = `window_end as materialized (
        select available_at, seq from due_window order by available_at desc, seq desc limit 1
      )`;

/** Reads the entries of the rows to be claimed twice. */
function lookedAtWindow(due: string): string {
  return `due_window as materialized (
        select available_at, seq, ${isKept('$6')} as is_kept${due}
        order by available_at, seq
        limit $5::int
      ), ${WINDOW_END}, due as materialized (
        select tableoid, ctid, claimed_until is not null as orphaned${due}
          and (available_at, seq) <= ((select available_at from window_end), (select seq from window_end))
          and (select bool_or(is_kept) from due_window)
          and ${isKept('$6')}
        order by available_at, seq
        limit $3::int
        for update skip locked`;
}

/** Reads each entry once, and locks rows that are left out as well, for as long as the statement runs. */
function lockedWindow(due: string): string {
  return `due_window as materialized (
        select tableoid, ctid, available_at, seq, claimed_until is not null as orphaned,
          ${isKept('$6')} as is_kept${due}
        order by available_at, seq
        limit $5::int
        for update skip locked
      ), ${WINDOW_END}, due as materialized (
        select tableoid, ctid, orphaned from due_window where is_kept limit $3::int`;
}
