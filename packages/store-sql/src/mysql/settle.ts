import type { Outcome } from '@postcommit/core';
import { attemptsOf } from '@postcommit/core/internal';
import type { UnpublishedOutcome } from '../dialect.js';
import type { SqlRecord, SqlStatement, SqlSteps } from '../sql-statement.js';
import type { TableName } from '../table-name.js';
import { isTrue, lockById } from './claim.js';
import {
  byIndex,
  byPrimaryKey,
  END_CLAIM,
  idRecords,
  list,
  NOW,
  nowPlusMs,
  PENDING,
  seqsOf,
} from './columns.js';

/** Locks the rows first and returns those, since an UPDATE does not return the rows it changed. */
export function settleDispatched(
  table: TableName,
  token: string | undefined,
  ids: readonly string[],
): () => SqlSteps {
  return function* () {
    const ours = yield lockOurs(table, token, ids);
    if (ours.length === 0) return [];
    // The token stays on the row as a receipt, so that a settle whose response was lost can be repeated.
    yield {
      text: `
        update ${byPrimaryKey(table)} set dispatched_at = ${NOW}, retakes = 0, claimed_key = null
        where seq in (${list(ours)})`,
      values: seqsOf(ours),
    };
    return idRecords(ours);
  };
}

/**
 * Settles all other outcomes of a batch together, not in one round trip per row. A release keeps the
 * retakes: it can't clear a row of having crashed a process.
 */
export function settleUnpublished(
  table: TableName,
  token: string | undefined,
  outcomes: readonly UnpublishedOutcome[],
): () => SqlSteps {
  return function* () {
    const byId = new Map(outcomes.map((outcome) => [outcome.id, outcome]));
    const ours = yield lockOurs(table, token, [...byId.keys()]);
    if (ours.length === 0) return [];
    yield recordOutcomes(table, ours, byId);
    return idRecords(ours);
  };
}

/** Without a token it is an operator's action, whoever holds the claim. */
function lockOurs(table: TableName, token: string | undefined, ids: readonly string[]): SqlStatement {
  return token === undefined
    ? lockById(table, ids, PENDING)
    : lockById(table, ids, `${PENDING} and claim_token = ?`, [token]);
}

function recordOutcomes(
  table: TableName,
  rows: readonly SqlRecord[],
  byId: ReadonlyMap<unknown, UnpublishedOutcome>,
): SqlStatement {
  const outcomes = rows.flatMap(({ id, seq }) => {
    const outcome = byId.get(id);
    return outcome ? [{ ...outcome, seq, attempts: attemptsOf(outcome) }] : [];
  });
  return {
    text: `
      update json_table(?, '$[*]' columns (
        seq bigint path '$.seq', kind varchar(20) path '$.kind', error mediumtext path '$.error',
        delay_ms double path '$.delayMs', reason varchar(20) path '$.reason', attempts int path '$.attempts'
      )) x
      straight_join ${table.sql} o on o.seq = x.seq
      set o.attempts = least(o.attempts, 2147483646) + x.attempts,
        o.retakes = case when x.kind = 'released' then o.retakes else 0 end,
        o.last_error = coalesce(x.error, o.last_error),
        o.available_at = coalesce(${nowPlusMs('x.delay_ms')}, o.available_at),
        o.dead_at = case when x.kind = 'dead' then ${NOW} end,
        o.dead_reason = x.reason,
        o.claim_token = case when x.kind = 'dead' then o.claim_token end,
        o.claimed_at = case when x.kind = 'dead' then o.claimed_at end,
        o.claimed_until = case when x.kind = 'dead' then o.claimed_until end,
        o.claimed_key = null`,
    values: [JSON.stringify(outcomes)],
  };
}

export function findReceipts(table: TableName, token: string, outcomes: readonly Outcome[]): SqlStatement {
  const idsOf = (kind: Outcome['kind']): string[] =>
    outcomes.filter((outcome) => outcome.kind === kind).map(({ id }) => id);
  const ended = (['dispatched', 'dead'] as const)
    .map((kind) => ({ kind, ids: idsOf(kind) }))
    .filter(({ ids }) => ids.length > 0);
  const conditions = ended.map(({ kind, ids }) => `(id in (${list(ids)}) and ${kind}_at is not null)`);
  return {
    text: `select id from ${table.sql} where claim_token = ? and (${conditions.join(' or ')})`,
    values: [token, ...ended.flatMap(({ ids }) => ids)],
  };
}

export function cancel(table: TableName, id: string): () => SqlSteps {
  return function* () {
    const [found] = yield {
      text: `
        select seq + 0e0 as seq, claimed_until > ${NOW} as was_claimed
        from ${byIndex(table, '_id')}
        where id = ? and ${PENDING}
        for update`,
      values: [id],
    };
    if (!found) return [];
    yield {
      text: `update ${byPrimaryKey(table)} set dead_at = ${NOW}, dead_reason = 'cancelled', ${END_CLAIM} where seq = ?`,
      values: [found.seq],
    };
    return [{ id, was_claimed: isTrue(found.was_claimed) }];
  };
}
