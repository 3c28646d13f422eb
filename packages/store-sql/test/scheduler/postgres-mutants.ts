import { postgres, type SqlDialect, type SqlStatement } from '@postcommit/store-sql';
import type { SqlSteps } from '../../src/sql-statement.js';
import { statementsOf } from '../sql-session.js';
import { NOTHING, replaced, rewritten, type StatementMutant } from './statement-mutants.js';

const KEY_WIDE =
  'select from "outbox" c where c.claimed_key = k.key and c.claimed_until > statement_timestamp()';
const HEAD_SEQ =
  '(select min(h.seq) from "outbox" h where h.key = k.key and h.dispatched_at is null and h.dead_at is null)';
const FENCE = '($2::varchar is null or o.claim_token = $2)';

export const POSTGRES_MUTANTS: readonly StatementMutant[] = [
  {
    name: 'no key-wide check',
    dialect: withClaim((claim) => replaced(claim, KEY_WIDE, `${KEY_WIDE} and false`)),
    breaks: /^I4/,
  },
  {
    name: 'only older rows are checked for live claims',
    dialect: withClaim((claim) => replaced(claim, KEY_WIDE, `${KEY_WIDE} and c.seq <= ${HEAD_SEQ}`)),
    breaks: /^I4/,
  },
  {
    name: 'no lock',
    dialect: {
      ...postgres,
      claimKeyed: (table, claim) =>
        rewritten(postgres.claimKeyed(table, claim), (statement, place) =>
          place === 0 ? NOTHING : statement,
        ),
    },
    breaks: /^I4/,
  },
  {
    name: 'lock and claim in one statement',
    dialect: { ...postgres, claimKeyed: (table, claim) => lockInside(postgres.claimKeyed(table, claim)) },
    breaks: /^I4/,
  },
  {
    name: 'a locked head is skipped, and its followers are taken',
    dialect: withClaim((claim) => replaced(claim, 'p.locked_so_far = p.position', 'true')),
    breaks: /^I5/,
  },
  {
    name: 'no fence for what was dispatched',
    dialect: {
      ...postgres,
      settleDispatched: (table, token, ids) =>
        replaced(postgres.settleDispatched(table, token, ids), FENCE, '($2::varchar is null or true)'),
    },
    breaks: /^I3/,
  },
  {
    name: 'no fence for what was not',
    dialect: {
      ...postgres,
      settleUnpublished: (table, token, outcomes) =>
        replaced(postgres.settleUnpublished(table, token, outcomes), FENCE, '($2::varchar is null or true)'),
    },
    breaks: /^I3/,
  },
  {
    name: 'an expired claim of a key can be revived',
    dialect: {
      ...postgres,
      extendClaim: (table, token, ids, timeoutMs) =>
        replaced(postgres.extendClaim(table, token, ids, timeoutMs), 'key is null or', 'true or'),
    },
    breaks: /^I4/,
  },
];

function withClaim(mutate: (claim: SqlStatement) => SqlStatement): SqlDialect {
  return {
    ...postgres,
    claimKeyed: (table, claim) =>
      rewritten(postgres.claimKeyed(table, claim), (statement, place) =>
        place === 0 ? statement : mutate(statement),
      ),
  };
}

/** The lock is taken before anything is read, but by a statement whose snapshot is older than the lock. */
function lockInside(work: () => SqlSteps): () => SqlSteps {
  const [lock = NOTHING, claim = NOTHING] = statementsOf(work);
  const last = `$$${claim.values.length + 1}`;
  const call = /pg_advisory_xact_lock\([^)]*\)/.exec(lock.text)?.[0].replace('$1', last);
  if (call === undefined) throw new Error('the lock is not where it was');
  const first = 'with due_window as materialized (';
  const locked = `with lock_taken as materialized (select ${call}), due_window as materialized (`;
  const waits = 'from "outbox"\n        where (select count(*) from lock_taken) = 1 and ';
  const inside = replaced(replaced(claim, first, locked), 'from "outbox"\n        where ', waits);
  const whole = { text: inside.text, values: [...claim.values, lock.values[0]] };
  return rewritten(work, (_statement, place) => (place === 0 ? NOTHING : whole));
}
