import { postgres, type SqlStatement } from '@postcommit/store-sql';
import { beforeAll, describe, expect, it } from 'vitest';
import { PgOutboxStore } from '../../store-pg/src/pg-outbox-store.js';
import type { DuePlace, KeyedClaim } from '../src/dialect.js';
import { countingPool } from './counting-pool.js';
import { explained } from './explained.js';
import { ensureSchema, type PostgresFixture, usePostgres } from './postgres-fixture.js';
import { claimOf, statementsOf, TABLE } from './sql-session.js';

const DISPATCHED = 50_000;
/** Due rows of each of two keys: the first row of one is claimed, that of the other backs off. */
const WAITING = 20_000;
const LIMIT = 100;
const WINDOW = 500;
const HOT = ['claimed', 'delayed'];

const fixture = usePostgres(fill);
let behind: DuePlace;

async function fill({ pool }: PostgresFixture): Promise<void> {
  await ensureSchema(fixture);
  await pool.query('alter table outbox set (autovacuum_enabled = false)');
  const rows = (count: number, columns: string, values: string): Promise<unknown> =>
    pool.query(
      `insert into outbox (id, topic, payload, key, available_at${columns})
       select gen_random_uuid()::text, 't', '{}', ${values} from generate_series(1, ${count}) n`,
    );
  const ago = (hours: number): string => `now() - interval '${hours} hours' + n * interval '1 microsecond'`;
  await rows(DISPATCHED, ', dispatched_at', `'claimed', ${ago(3)}, now()`);
  const live = `now() + interval '1 hour'`;
  await rows(
    1,
    ', claim_token, claimed_at, claimed_until, claimed_key',
    `'claimed', ${ago(2)}, 'x', now(), ${live}, 'claimed'`,
  );
  await rows(1, '', `'delayed', ${live}`);
  for (const key of HOT) await rows(WAITING, '', `'${key}', ${ago(2)}`);
  const { rows: places } = await pool.query(
    `select (extract(epoch from available_at) * 1000000)::bigint::text as "availableAt", seq::text
     from outbox where dispatched_at is null and available_at < now() order by available_at desc, seq desc limit 1`,
  );
  behind = places[0];
}

function keyedClaim(claim: Partial<KeyedClaim>): SqlStatement {
  const [, take] = statementsOf(
    postgres.claimKeyed(TABLE, claimOf({ limit: LIMIT, perKey: LIMIT, window: WINDOW, ...claim })),
  );
  if (!take) throw new Error('a keyed claim is a lock and a claim');
  return take;
}

const planCases = (): void => {
  describe.each(['custom', 'generic'] as const)('%s plan', (mode) => {
    const reads = async (claim: Partial<KeyedClaim>): Promise<number> => {
      const plan = await explained(fixture.pool, keyedClaim(claim), mode);
      expect(plan.seqScans).toBe(0);
      return plan.rowsRead;
    };

    it.each([WINDOW, 16 * WINDOW])('a window of %i of them is read once', async (window) => {
      // The claimed row before them, the oldest rows of the key that backs off, and one row read ahead.
      expect(await reads({ window })).toBeLessThanOrEqual(window + LIMIT + 5);
    });

    it('a claim behind them reads none of them, but the oldest of each key', async () => {
      expect(await reads({ after: behind, parked: HOT })).toBeLessThanOrEqual(LIMIT + 5);
    });

    it('a sweep reads one row of each key', async () => {
      for (const after of [undefined, 'a']) {
        const plan = await explained(fixture.pool, postgres.pendingKeys(TABLE, after, 500), mode);
        expect(plan.seqScans).toBe(0);
        // Servers before 18 round the rows of each loop.
        expect(plan.rowsRead).toBeLessThanOrEqual(HOT.length);
      }
    });

    it('a claim that looks up 500 keys without rows reads nothing else', async () => {
      const parked = [...HOT, ...Array.from({ length: 498 }, (_, index) => `key-${index}`)];
      expect(await reads({ after: behind, parked })).toBeLessThanOrEqual(LIMIT + 5);
    });
  });
};

describe(`with twice ${WAITING} rows at the front that wait for their keys, never analysed`, planCases);

describe(`with twice ${WAITING} rows at the front that wait for their keys, analysed`, () => {
  beforeAll(() => fixture.query('analyze outbox'));
  planCases();

  it('one claim passes them, and the next ones take one statement each', async () => {
    const pool = countingPool(fixture.pool);
    const store = new PgOutboxStore(pool, { wakeup: false });
    expect(await store.fetchPending(LIMIT)).toEqual([]);
    const first = pool.taken().filter((text) => text === 'with due_window');
    // 500, 1,000, 2,000 and 4,000 rows, then 8,000 each; then what is left of the last window is passed.
    expect(first.length).toBeLessThanOrEqual(10);
    await store.fetchPending(LIMIT);
    pool.taken();
    await store.enqueue({ id: 'other', topic: 't', payload: {}, key: 'other' });
    expect(await store.fetchPending(LIMIT)).toMatchObject([{ id: 'other' }]);
    expect(pool.taken().filter((text) => text === 'with due_window')).toHaveLength(1);
  });
});
