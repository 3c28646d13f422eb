import type { Outcome } from '@postcommit/core';
import { attemptsOf } from '@postcommit/core/internal';
import type { UnpublishedOutcome } from '../dialect.js';
import type { SqlStatement, SqlSteps } from '../sql-statement.js';
import type { TableName } from '../table-name.js';
import { END_CLAIM, LIST, list, NOW, nowPlusMs, PENDING } from './columns.js';

/** The token stays on the row as a receipt, so that a settle whose response was lost can be repeated. */
export function settleDispatched(
  table: TableName,
  token: string | undefined,
  ids: readonly string[],
): SqlStatement {
  return {
    text: `
      update ${table.sql}
      set dispatched_at = ${NOW}, retakes = 0, claimed_key = null
      where id in ${LIST} and ${fence(token)} and ${PENDING}
      returning id`,
    values: [list(ids), ...fenceValues(token)],
  };
}

/**
 * Settles all other outcomes of a batch in one statement. A release keeps the
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
      set attempts = min(o.attempts, 2147483646) + x.attempts,
        retakes = case when x.kind = 'released' then o.retakes else 0 end,
        last_error = coalesce(x.error, o.last_error),
        available_at = coalesce(${nowPlusMs('x.delay_ms')}, o.available_at),
        dead_at = case when x.kind = 'dead' then ${NOW} end,
        dead_reason = x.reason,
        claim_token = case when x.kind = 'dead' then o.claim_token end,
        claimed_at = case when x.kind = 'dead' then o.claimed_at end,
        claimed_until = case when x.kind = 'dead' then o.claimed_until end,
        claimed_key = null
      from (
        select value->>'id' as id, value->>'kind' as kind, value->>'error' as error,
          value->>'delayMs' as delay_ms, value->>'reason' as reason, value->>'attempts' as attempts
        from json_each(?)
      ) as x
      where o.id = x.id and ${fence(token)} and ${PENDING}
      returning id`,
    values: [
      list(outcomes.map((outcome) => ({ ...outcome, attempts: attemptsOf(outcome) }))),
      ...fenceValues(token),
    ],
  };
}

export function findReceipts(table: TableName, token: string, outcomes: readonly Outcome[]): SqlStatement {
  const idsOf = (kind: Outcome['kind']): string =>
    list(outcomes.filter((outcome) => outcome.kind === kind).map(({ id }) => id));
  return {
    text: `
      select id from ${table.sql} where id in ${LIST} and claim_token = ? and dispatched_at is not null
      union all
      select id from ${table.sql} where id in ${LIST} and claim_token = ? and dead_at is not null`,
    values: [idsOf('dispatched'), token, idsOf('dead'), token],
  };
}

/** Reads the row first, since an update does not return the old values. */
export function cancel(table: TableName, id: string): () => SqlSteps {
  return function* () {
    const [found] = yield {
      text: `select claimed_until > ${NOW} as was_claimed from ${table.sql} where id = ? and ${PENDING}`,
      values: [id],
    };
    if (!found) return [];
    yield {
      text: `update ${table.sql} set dead_at = ${NOW}, dead_reason = 'cancelled', ${END_CLAIM} where id = ?`,
      values: [id],
    };
    return [{ id, was_claimed: found.was_claimed === 1 }];
  };
}

/** Without a token it is an operator's action, whoever holds the claim. */
function fence(token: string | undefined): string {
  return token === undefined ? 'true' : 'claim_token = ?';
}

function fenceValues(token: string | undefined): readonly string[] {
  return token === undefined ? [] : [token];
}
