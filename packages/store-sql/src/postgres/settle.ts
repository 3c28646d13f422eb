import type { Outcome } from '@postcommit/core';
import { attemptsOf } from '@postcommit/core/internal';
import type { UnpublishedOutcome } from '../dialect.js';
import type { SqlStatement } from '../sql-statement.js';
import type { TableName } from '../table-name.js';
import { END_CLAIM, NOW, PENDING } from './columns.js';

/** Without a token it is an operator's action, whoever holds the claim. */
const FENCE = '($2::varchar is null or o.claim_token = $2)';

/** The token stays on the row as a receipt, so that a settle whose response was lost can be repeated. */
export function settleDispatched(
  table: TableName,
  token: string | undefined,
  ids: readonly string[],
): SqlStatement {
  return {
    text: `
      update ${table.sql} as o
      set dispatched_at = ${NOW}, retakes = 0, claimed_key = null
      where o.id = any ($1::varchar[]) and ${FENCE} and o.dispatched_at is null and o.dead_at is null
      returning o.id`,
    values: [ids, token ?? null],
  };
}

/**
 * Settles all other outcomes of a batch in one statement, not in one round trip per row. A release keeps the
 * retakes: it can't clear a row of having crashed a process.
 */
export function settleUnpublished(
  table: TableName,
  token: string | undefined,
  outcomes: readonly UnpublishedOutcome[],
): SqlStatement {
  return {
    text: `
      update ${table.sql} as o
      set attempts = least(o.attempts, 2147483646) + x.attempts,
        retakes = case when x.kind = 'released' then o.retakes else 0 end,
        last_error = coalesce(x.error, o.last_error),
        available_at = coalesce(${NOW} + x."delayMs" * interval '1 millisecond', o.available_at),
        dead_at = case when x.kind = 'dead' then ${NOW} end,
        dead_reason = x.reason,
        claim_token = case when x.kind = 'dead' then o.claim_token end,
        claimed_at = case when x.kind = 'dead' then o.claimed_at end,
        claimed_until = case when x.kind = 'dead' then o.claimed_until end,
        claimed_key = null
      from json_to_recordset($1::json)
        as x(id varchar, kind text, error text, "delayMs" float8, reason varchar, attempts int)
      where o.id = x.id and ${FENCE} and o.dispatched_at is null and o.dead_at is null
      returning o.id`,
    values: [
      JSON.stringify(inLockOrder(outcomes).map((outcome) => ({ ...outcome, attempts: attemptsOf(outcome) }))),
      token ?? null,
    ],
  };
}

/** All statements lock rows in the same order, which prevents deadlocks. */
function inLockOrder(outcomes: readonly UnpublishedOutcome[]): UnpublishedOutcome[] {
  return [...outcomes].sort((a, b) => (a.id < b.id ? -1 : 1));
}

export function findReceipts(table: TableName, token: string, outcomes: readonly Outcome[]): SqlStatement {
  const idsOf = (kind: Outcome['kind']) =>
    outcomes.filter((outcome) => outcome.kind === kind).map(({ id }) => id);
  return {
    text: `
      select id
      from ${table.sql}
      where claim_token = $1
        and ((id = any ($2::varchar[]) and dispatched_at is not null) or (id = any ($3::varchar[]) and dead_at is not null))`,
    values: [token, idsOf('dispatched'), idsOf('dead')],
  };
}

/** Locks the row first, since an update does not return the old values. */
export function cancel(table: TableName, id: string): SqlStatement {
  return {
    text: `
      with found as materialized (
        select id, coalesce(claimed_until > ${NOW}, false) as was_claimed
        from ${table.sql}
        where id = $1 and ${PENDING}
        for update
      )
      update ${table.sql} as o
      set dead_at = ${NOW}, dead_reason = 'cancelled', ${END_CLAIM}
      from found f
      where o.id = f.id
      returning o.id, f.was_claimed`,
    values: [id],
  };
}
