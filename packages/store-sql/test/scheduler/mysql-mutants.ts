import { mysql, type SqlDialect, type SqlStatement } from '@postcommit/store-sql';
import type { SqlSteps } from '../../src/sql-statement.js';
import { NOTHING, replaced, rewritten, type StatementMutant } from './statement-mutants.js';

const KEY_WIDE = 'and claimed_until > utc_timestamp(6)';
const HEAD_SEQ = '(select min(h.seq) from `outbox` h where h.pending_key = `outbox`.claimed_key)';
const LOCKS_ROWS = 'for update skip locked';

export const MYSQL_MUTANTS: readonly StatementMutant[] = [
  {
    name: 'no key-wide check',
    dialect: withKeyedClaim((statement) =>
      isKeyWide(statement) ? replaced(statement, KEY_WIDE, 'and false') : statement,
    ),
    breaks: /^I4/,
  },
  {
    name: 'only older rows are checked for live claims',
    dialect: withKeyedClaim((statement) =>
      isKeyWide(statement) ? replaced(statement, KEY_WIDE, `${KEY_WIDE} and seq <= ${HEAD_SEQ}`) : statement,
    ),
    breaks: /^I4/,
  },
  {
    name: 'no lock',
    dialect: withKeyedClaim((statement, place) => (place === 0 ? NOTHING : statement)),
    breaks: /^I4/,
  },
  {
    name: 'the lock after what is read under it',
    dialect: { ...mysql, claimKeyed: (table, claim) => lockedLate(mysql.claimKeyed(table, claim)) },
    breaks: /^I4/,
  },
  {
    name: 'a locked head is skipped, and its followers are taken',
    dialect: withKeyedClaim((statement) =>
      statement.text.includes('pending_key = ?')
        ? {
            ...statement,
            text: statement.text.replaceAll(/limit \d+\)/g, (end) => `${end.slice(0, -1)} ${LOCKS_ROWS})`),
          }
        : statement,
    ),
    breaks: /^I5/,
  },
  {
    name: 'no fence for what was dispatched',
    dialect: {
      ...mysql,
      settleDispatched: (table, token, ids) => unfenced(mysql.settleDispatched(table, token, ids)),
    },
    breaks: /^I3/,
  },
  {
    name: 'no fence for what was not',
    dialect: {
      ...mysql,
      settleUnpublished: (table, token, outcomes) =>
        unfenced(mysql.settleUnpublished(table, token, outcomes)),
    },
    breaks: /^I3/,
  },
  {
    name: 'an expired claim of a key can be revived',
    dialect: {
      ...mysql,
      extendClaim: (table, token, ids, timeoutMs) =>
        rewritten(mysql.extendClaim(table, token, ids, timeoutMs), (statement, place) =>
          place === 1 ? replaced(statement, '`key` is null or', 'true or') : statement,
        ),
    },
    breaks: /^I4/,
  },
];

function withKeyedClaim(rewrite: (statement: SqlStatement, place: number) => SqlStatement): SqlDialect {
  return {
    ...mysql,
    claimKeyed: (table, claim) => rewritten(mysql.claimKeyed(table, claim), rewrite),
  };
}

function isKeyWide({ text }: SqlStatement): boolean {
  return text.includes('select distinct claimed_key');
}

/** Whoever has the lock goes by what it saw before that. */
function lockedLate(work: () => SqlSteps): () => SqlSteps {
  return function* () {
    const steps = work();
    const lock = steps.next();
    let step = lock.done ? lock : steps.next([{ name: 'not yet' }]);
    while (!step.done) {
      if (!lock.done && step.value.text.includes(LOCKS_ROWS)) yield lock.value;
      step = steps.next(yield step.value);
    }
    return step.value;
  };
}

function unfenced(work: () => SqlSteps): () => SqlSteps {
  return rewritten(work, (statement, place) =>
    place === 0 ? replaced(statement, 'claim_token = ?', '? is not null') : statement,
  );
}
