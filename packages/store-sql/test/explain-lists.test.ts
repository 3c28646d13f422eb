import { postgres, type SqlStatement } from '@postcommit/store-sql';
import { beforeAll, describe, expect, it } from 'vitest';
import { explained } from './explained.js';
import { ensureSchema, type PostgresFixture, usePostgres } from './postgres-fixture.js';
import { TABLE } from './sql-session.js';

const DISPATCHED = 200_000;
const DEAD = 20_000;
const PENDING = 4_000;
const LIMIT = 100;
/**
 * Without statistics, the planner takes every topic for one row in 200, and scans a table in which `limit` rows would be
 * a large part of those: this one for 20 rows, one of 5 million for more than 100. So only a small table is scanned.
 */
const FEW = 5;
/** Rows that ended in one statement. */
const TIED = 200;

const fixture = usePostgres(fill);

/** Every second row has the topic `a`; half of the dispatched rows ended at the same moment, as after a bulk update. */
async function fill({ pool }: PostgresFixture): Promise<void> {
  await ensureSchema(fixture);
  await pool.query('alter table outbox set (autovacuum_enabled = false)');
  const topic = `case when n % 2 = 0 then 'a' else 'b' end`;
  const ago = (ms: string): string => `now() - ${ms} * interval '1 millisecond'`;
  await pool.query(
    `insert into outbox (id, topic, payload, dispatched_at)
     select 'd' || n, ${topic}, '{}', ${ago(`greatest(n, ${DISPATCHED / 2})`)} from generate_series(1, ${DISPATCHED}) n`,
  );
  await pool.query(
    `insert into outbox (id, topic, payload, dead_at, dead_reason, last_error)
     select 'x' || n, ${topic}, '{}', ${ago(`(n / ${TIED})`)}, 'exhausted', case when n % 2 = 0 then '502' else '503' end
     from generate_series(1, ${DEAD}) n`,
  );
  await pool.query(
    `insert into outbox (id, topic, payload, key, available_at)
     select 'p' || n, ${topic}, '{}', case when n % 4 < 2 then 'k' || n % 100 end, ${ago('n')} from generate_series(1, ${PENDING}) n`,
  );
}

interface Case {
  readonly name: string;
  readonly statement: () => SqlStatement;
  /** How many rows it asks for. Default `LIMIT`. */
  readonly limit?: number;
  readonly maxRows: number;
}

/** What follows a filter: of two rows one matches, a little unevenly. */
const HALF = 3;

const CASES: readonly Case[] = [
  {
    name: 'peek at all rows',
    statement: () => postgres.peek(TABLE, {}, LIMIT),
    // Dispatched, dead, pending with and without a key.
    maxRows: 4 * LIMIT,
  },
  {
    name: 'peek at pending rows',
    statement: () => postgres.peek(TABLE, { state: 'pending' }, LIMIT),
    maxRows: 2 * LIMIT,
  },
  {
    name: 'peek at dispatched rows',
    statement: () => postgres.peek(TABLE, { state: 'dispatched' }, LIMIT),
    maxRows: LIMIT,
  },
  {
    name: 'peek at dead rows with an error',
    statement: () => postgres.peek(TABLE, { state: 'dead', error: '502' }, LIMIT),
    maxRows: HALF * LIMIT,
  },
  {
    name: 'peek at the dead rows that died first',
    statement: () => postgres.peek(TABLE, { state: 'dead' }, LIMIT, 'oldest'),
    // Rows of the same time are ordered by `seq`.
    maxRows: LIMIT + 2 * TIED,
  },
  {
    name: 'a requeued page of dead rows',
    statement: () => postgres.requeueWhere(TABLE, { state: 'dead' }, LIMIT),
    // Found, locked and updated.
    maxRows: 3 * LIMIT + 2 * TIED,
  },
];

const topicCases = (limit: number): readonly Case[] => [
  {
    name: `a look at ${limit} rows of a topic`,
    statement: () => postgres.peek(TABLE, { topic: 'a' }, limit),
    limit,
    maxRows: 4 * HALF * limit,
  },
  {
    name: `${limit} requeued rows of a topic, without cancelled ones`,
    statement: () =>
      postgres.requeueWhere(TABLE, { state: 'dead', topic: 'a', exceptCancelled: true }, limit),
    limit,
    maxRows: (2 + HALF) * limit + 2 * TIED,
  },
];

const explainCases = (cases: readonly Case[]) => (): void => {
  describe.each(['custom', 'generic'] as const)('%s plan', (mode) => {
    it.each(cases)('$name', async ({ statement, limit = LIMIT, maxRows }) => {
      const plan = await explained(fixture.pool, statement(), mode);
      expect(plan.seqScans).toBe(0);
      expect(plan.rowsRead).toBeLessThanOrEqual(maxRows);
      expect(plan.rowsRead, 'the statement found its rows').toBeGreaterThanOrEqual(limit);
      expect(plan.rowsSorted).toBeLessThanOrEqual(4 * LIMIT + 2 * TIED);
    });
  });
};

describe(`with ${DISPATCHED} dispatched rows, never analysed`, explainCases([...CASES, ...topicCases(FEW)]));

describe(`with ${DISPATCHED} dispatched rows, analysed`, () => {
  beforeAll(() => fixture.query('analyze outbox'));
  explainCases([...CASES, ...topicCases(LIMIT), ...topicCases(FEW)])();
});

it('a filter by time of death uses the index', async () => {
  const [{ dead_at: deadBefore } = {}] = await fixture.query(
    "select dead_at from outbox where id = 'x19800'",
  );
  const first = postgres.peek(TABLE, { deadBefore: deadBefore as Date }, LIMIT);
  const plan = await explained(fixture.pool, first, 'custom');
  expect(plan.rowsRead).toBeLessThanOrEqual(LIMIT);
});

it('a count of dead rows by topic and reason reads no other rows', async () => {
  await fixture.query('analyze outbox');
  const plan = await explained(fixture.pool, postgres.countDead(TABLE, LIMIT), 'custom');
  expect(plan.seqScans).toBe(0);
  expect(plan.rowsRead).toBe(DEAD);
});
