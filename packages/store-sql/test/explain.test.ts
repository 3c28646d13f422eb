import { postgres, type SqlStatement } from '@postcommit/store-sql';
import { beforeAll, describe, expect, it } from 'vitest';
import type { DuePlace } from '../src/dialect.js';
import { ensureSchema, type PostgresFixture, usePostgres } from './postgres-fixture.js';
import { claimOf, statementsOf, TABLE } from './sql-session.js';

const DISPATCHED = 200_000;
const UNKEYED = 3_000;
const KEYED = 3_000;
const ONE_KEY = 20_000;
const LIMIT = 100;
const WINDOW = 500;

/** One node of a plan in the output of EXPLAIN. */
interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Rows Removed by Join Filter'?: number;
  readonly 'Rows Removed by Index Recheck'?: number;
  readonly 'Shared Hit Blocks': number;
  readonly 'Shared Read Blocks': number;
  readonly Plans?: readonly PlanNode[];
}

interface Plan {
  readonly indexes: readonly string[];
  readonly seqScans: readonly string[];
  /** Rows that any scan of the table read, those that a filter threw away included. */
  readonly rowsRead: number;
  readonly blocks: number;
  /** Pairs of rows that a join compared and threw away. */
  readonly pairsInVain: number;
}

/** Behind two thirds of the unkeyed rows. */
let placeInBetween: DuePlace | undefined;
const fixture = usePostgres(fill);

async function fill({ pool }: PostgresFixture): Promise<void> {
  await ensureSchema(fixture);
  const past = `now() - interval '1 hour'`;
  // No vacuum in between: what is read must not depend on when it came by.
  await pool.query('alter table outbox set (autovacuum_enabled = false)');
  await pool.query(
    `insert into outbox (id, topic, payload, key, available_at, dispatched_at, claim_token, claimed_at, claimed_until)
     select 'd' || n, 't', '{}', case when n % 2 = 0 then 'key-' || n % 1000 end, ${past}, ${past}, 'x', ${past}, ${past}
     from generate_series(1, ${DISPATCHED}) n`,
  );
  await pool.query(
    `insert into outbox (id, topic, payload, available_at)
     select 'u' || n, 't', '{}', ${past} from generate_series(1, ${UNKEYED}) n`,
  );
  const { rows } = await pool.query(
    `select (extract(epoch from available_at) * 1000000)::bigint as "availableAt", seq
     from outbox where id = 'u${(UNKEYED * 2) / 3}'`,
  );
  placeInBetween = rows[0];
  await pool.query(
    `insert into outbox (id, topic, payload, key, available_at)
     select 'k' || n, 't', '{}', 'key-' || n % 1000, ${past} from generate_series(1, ${KEYED}) n`,
  );
}

const keyedClaim = (limit = LIMIT): SqlStatement => {
  const [, take] = statementsOf(
    postgres.claimKeyed(TABLE, claimOf({ limit, perKey: limit, window: WINDOW })),
  );
  if (!take) throw new Error('a keyed claim is a lock and a claim');
  return take;
};
const ids = Array.from({ length: LIMIT }, (_, index) => `u${index + 1}`);

/** The plan that really ran, of a prepared statement, as a driver that prepares would have it. */
async function explain({ text, values }: SqlStatement, mode: string): Promise<Plan> {
  const client = await fixture.pool.connect();
  try {
    await client.query('begin');
    await client.query(`set local plan_cache_mode = force_${mode}_plan`);
    // Parallel workers report averages.
    await client.query('set local max_parallel_workers_per_gather = 0');
    await client.query(`prepare s as ${text}`);
    const list = values.map((value) => literal(client.escapeLiteral, value)).join(', ');
    const { rows } = await client.query(
      `explain (analyze, buffers, format json) execute s${list ? `(${list})` : ''}`,
    );
    return summarise(nodesOf(rows[0]['QUERY PLAN'][0].Plan));
  } finally {
    await client.query('rollback');
    await client.query('deallocate all');
    client.release();
  }
}

function literal(quote: (text: string) => string, value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return `array[${value.map((item) => quote(String(item))).join(', ')}]::varchar[]`;
  return quote(String(value));
}

function nodesOf(node: PlanNode): PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(nodesOf)];
}

function summarise(nodes: readonly PlanNode[]): Plan {
  const scans = nodes.filter((node) => /Scan$/.test(node['Node Type']));
  const ofTable = scans.filter((node) => node['Relation Name'] === 'outbox');
  return {
    indexes: [...new Set(scans.flatMap((node) => node['Index Name'] ?? []))].sort(),
    seqScans: ofTable.filter((node) => node['Node Type'] === 'Seq Scan').map((node) => node['Node Type']),
    rowsRead: ofTable.reduce((sum, node) => sum + rowsOf(node), 0),
    blocks: (nodes[0]?.['Shared Hit Blocks'] ?? 0) + (nodes[0]?.['Shared Read Blocks'] ?? 0),
    pairsInVain: nodes.reduce((sum, node) => sum + (node['Rows Removed by Join Filter'] ?? 0), 0),
  };
}

function rowsOf(node: PlanNode): number {
  const each =
    node['Actual Rows'] +
    (node['Rows Removed by Filter'] ?? 0) +
    (node['Rows Removed by Index Recheck'] ?? 0);
  // An average over the loops.
  return Math.round(each * node['Actual Loops']);
}

interface Case {
  readonly name: string;
  readonly statement: () => SqlStatement;
  readonly indexes: readonly string[];
  readonly maxRows: number;
}

const CASES: readonly Case[] = [
  {
    name: 'claim of unkeyed rows',
    statement: () => postgres.claimUnkeyed(TABLE, claimOf({ limit: LIMIT })),
    indexes: ['outbox_due', 'outbox_keyed_due'],
    // Each once to lock and once to update; one look for keyed rows.
    maxRows: 2 * LIMIT + 1,
  },
  {
    name: 'claim of unkeyed rows from a position',
    statement: () => postgres.claimUnkeyed(TABLE, claimOf({ limit: LIMIT, after: placeInBetween })),
    indexes: ['outbox_due', 'outbox_keyed_due'],
    // As above, but of the rows before that place not one.
    maxRows: 2 * LIMIT + 1,
  },
  {
    name: 'claim of unkeyed rows behind a full batch',
    statement: () =>
      postgres.claimUnkeyed(TABLE, claimOf({ limit: LIMIT, after: placeInBetween, isBacklog: true })),
    indexes: ['outbox_due', 'outbox_keyed_due'],
    maxRows: 2 * LIMIT + 1,
  },
  {
    name: 'claim of keyed rows',
    statement: () => keyedClaim(),
    indexes: ['outbox_claimed_key', 'outbox_keyed', 'outbox_keyed_due'],
    // The window, the heads of its keys, the rows of the free ones, their lock and their update.
    maxRows: WINDOW + WINDOW + 3 * LIMIT + LIMIT,
  },
  {
    name: 'settle as dispatched',
    statement: () => postgres.settleDispatched(TABLE, undefined, ids),
    indexes: ['outbox_pkey'],
    maxRows: LIMIT,
  },
  {
    name: 'settle as failed',
    statement: () =>
      postgres.settleUnpublished(
        TABLE,
        undefined,
        ids.map((id) => ({ id, kind: 'failed' as const, error: 'x', delayMs: 1 })),
      ),
    indexes: ['outbox_pkey'],
    maxRows: LIMIT,
  },
  {
    name: 'extend',
    statement: () => postgres.extendClaim(TABLE, 'token', ids, 1_000),
    indexes: ['outbox_pkey'],
    maxRows: LIMIT,
  },
  {
    name: 'purge of one page',
    statement: () => postgres.purgePage(TABLE, 'dispatched', { ageMs: 1_000 }, LIMIT),
    indexes: ['outbox_dispatched'],
    maxRows: 2 * LIMIT,
  },
];

/** These read all pending rows, but no other: two indexes together hold them. */
const PENDING_CASES: readonly Case[] = [
  {
    name: 'backlog, counted to a limit',
    statement: () => postgres.backlog(TABLE, LIMIT),
    indexes: ['outbox_due', 'outbox_keyed_due'],
    // With and without a key; once all that wait, once those that are due; and the first of each kind.
    maxRows: 4 * LIMIT + 2,
  },
  {
    name: 'release by token',
    statement: () => postgres.releaseToken(TABLE, 'unknown'),
    indexes: ['outbox_due', 'outbox_keyed'],
    maxRows: UNKEYED + KEYED + ONE_KEY,
  },
  {
    name: 'peek at pending rows',
    statement: () => postgres.peek(TABLE, { state: 'pending' }, LIMIT),
    indexes: ['outbox_due', 'outbox_keyed_due'],
    maxRows: UNKEYED + KEYED + ONE_KEY,
  },
];

const explainCases = (): void => {
  const holds = async ({ statement, indexes, maxRows }: Case, mode: 'generic' | 'custom'): Promise<void> => {
    const plan = await explain(statement(), mode);
    expect(plan.seqScans).toEqual([]);
    expect(plan.indexes).toEqual(indexes);
    expect(plan.rowsRead).toBeLessThanOrEqual(maxRows);
    expect(plan.rowsRead, 'the statement found its rows').toBeGreaterThanOrEqual(Math.min(maxRows, 1));
  };
  it.each(CASES)('$name, custom plan', (each) => holds(each, 'custom'));
  it.each(CASES)('$name, generic plan', (each) => holds(each, 'generic'));
  it.each(PENDING_CASES)('$name', async ({ statement, maxRows }) => {
    const plan = await explain(statement(), 'custom');
    expect(plan.seqScans).toEqual([]);
    expect(plan.rowsRead).toBeLessThanOrEqual(maxRows);
  });
};

describe(`with ${DISPATCHED} dispatched rows, never analysed`, explainCases);

describe(`with ${DISPATCHED} dispatched rows, analysed`, () => {
  beforeAll(() => fixture.query('analyze outbox'));
  explainCases();
});

describe(`with ${ONE_KEY} more pending rows of one key in front`, () => {
  beforeAll(async () => {
    await fixture.query(
      `insert into outbox (id, topic, payload, key, available_at)
       select 'o' || n, 't', '{}', 'one', now() - interval '2 hours' from generate_series(1, ${ONE_KEY}) n`,
    );
  });
  describe('statistics from before', explainCases);
  describe('analysed', () => {
    beforeAll(() => fixture.query('analyze outbox'));
    explainCases();
  });
  describe('while that key is claimed', () => {
    beforeAll(async () => {
      const take = keyedClaim();
      const claimed = await fixture.query(take.text, [...take.values]);
      expect(claimed).toHaveLength(LIMIT);
    });
    it.each(['custom', 'generic'])('a search of it costs one window, %s plan', async (mode) => {
      const plan = await explain(keyedClaim(), mode);
      expect(plan.seqScans).toEqual([]);
      expect(plan.rowsRead).toBeLessThanOrEqual(2 * WINDOW);
    });
  });
});

describe.each(['custom', 'generic'])('with a %s plan, beside a batch in flight', (mode) => {
  it('a keyed claim looks up whether each key is claimed, and does not compare it with all claimed keys', async () => {
    const live = `claim_token = 'x', claimed_at = now(), claimed_until = now() + interval '1 hour', claimed_key = key`;
    const free = 'claim_token = null, claimed_at = null, claimed_until = null, claimed_key = null';
    const rows = `where id like 'k%' and seq in (select seq from outbox where id like 'k%' order by seq limit 500)`;
    await fixture.query(`update outbox set ${live} ${rows}`);
    try {
      expect((await explain(keyedClaim(), mode)).pairsInVain).toBe(0);
    } finally {
      await fixture.query(`update outbox set ${free} ${rows}`);
    }
  });
});
