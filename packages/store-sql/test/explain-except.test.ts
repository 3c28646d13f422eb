import { postgres, type SqlStatement } from '@postcommit/store-sql';
import { beforeAll, describe, expect, it } from 'vitest';
import { PgOutboxStore } from '../../store-pg/src/pg-outbox-store.js';
import type { DuePlace } from '../src/dialect.js';
import { countingPool } from './counting-pool.js';
import { explained } from './explained.js';
import { ensureSchema, type PostgresFixture, usePostgres } from './postgres-fixture.js';
import { claimOf, statementsOf, TABLE } from './sql-session.js';

const DISPATCHED = 50_000;
/** Rows that are left out, at the front: as many without a key as with one. Before them is one of another topic. */
const AWAY = 20_000;
/** Rows of another topic behind them, of each kind. */
const OTHERS = 1_000;
const LIMIT = 100;
const WINDOW = 500;
const EXCEPT = { exceptTopics: ['away', 'first'] };

const fixture = usePostgres(fill);
let behind: DuePlace;

async function fill({ pool }: PostgresFixture): Promise<void> {
  await ensureSchema(fixture);
  await pool.query('alter table outbox set (autovacuum_enabled = false)');
  const rows = (topic: string, count: number, columns: string, values: string): Promise<unknown> =>
    pool.query(
      `insert into outbox (id, topic, payload, available_at, ${columns})
       select gen_random_uuid()::text, '${topic}', '{}', ${values} from generate_series(1, ${count}) n`,
    );
  const ago = (hours: number): string => `now() - interval '${hours} hours' + n * interval '1 microsecond'`;
  await rows('away', DISPATCHED, 'dispatched_at', `${ago(3)}, now()`);
  await rows('first', 1, 'key', `${ago(3)}, null`);
  await rows('away', AWAY, 'key', `${ago(2)}, null`);
  await rows('away', AWAY, 'key', `${ago(2)}, 'key-' || n`);
  await rows('here', OTHERS, 'key', `${ago(1)}, null`);
  await rows('here', OTHERS, 'key', `${ago(1)}, 'other-' || n`);
  const { rows: places } = await pool.query(
    `select (extract(epoch from available_at) * 1000000)::bigint as "availableAt", seq
     from outbox where topic = 'away' and dispatched_at is null order by available_at desc, seq limit 1`,
  );
  behind = places[0];
}

function unkeyedClaim(after?: DuePlace, window = WINDOW, except = EXCEPT): SqlStatement {
  return postgres.claimUnkeyedExcept(TABLE, { ...claimOf({ limit: LIMIT, window, after }), ...except });
}

function keyedClaim(after?: DuePlace): SqlStatement {
  const claim = claimOf({ limit: LIMIT, perKey: LIMIT, window: WINDOW, after });
  const [, take] = statementsOf(postgres.claimKeyed(TABLE, { ...claim, ...EXCEPT }));
  if (!take) throw new Error('a keyed claim is a lock and a claim');
  return take;
}

const planCases = (): void => {
  const reads = async (statement: SqlStatement, mode: 'custom' | 'generic'): Promise<number> => {
    const plan = await explained(fixture.pool, statement, mode);
    expect(plan.seqScans).toBe(0);
    return plan.rowsRead;
  };
  describe.each(['custom', 'generic'] as const)('%s plan', (mode) => {
    it.each([WINDOW, 16 * WINDOW])(
      'a window of %i rows that are all left out is read once',
      async (window) => {
        // One more to see whether rows with a key are due.
        expect(await reads(unkeyedClaim(undefined, window), mode)).toBe(window + 1);
      },
    );

    it('a claim that finds one row at the front looks for more only within its window', async () => {
      const claim = unkeyedClaim(undefined, WINDOW, { exceptTopics: ['away'] });
      expect(await reads(claim, mode)).toBeLessThanOrEqual(2 * WINDOW + 2);
    });

    it('a claim behind them reads its window, and each row to lock and to update it', async () => {
      expect(await reads(unkeyedClaim(behind), mode)).toBeLessThanOrEqual(WINDOW + 2 * LIMIT + 1);
    });

    it('a claim behind a full batch reads each entry once, and each row to update it', async () => {
      expect(await reads(unkeyedClaim(behind, LIMIT), mode)).toBeLessThanOrEqual(2 * LIMIT + 1);
    });

    it('a keyed window that is all left out looks up no key', async () => {
      // PostgreSQL 15 reads one row ahead.
      expect(await reads(keyedClaim(), mode)).toBeLessThanOrEqual(WINDOW + 1);
    });

    it('a keyed claim behind them reads no more than any other', async () => {
      expect(await reads(keyedClaim(behind), mode)).toBeLessThanOrEqual(2 * WINDOW + 4 * LIMIT);
    });
  });
};

describe(`with ${AWAY} rows at the front that are left out, never analysed`, planCases);

describe(`with ${AWAY} rows at the front that are left out, analysed`, () => {
  beforeAll(() => fixture.query('analyze outbox'));
  planCases();

  it('one claim passes them, and the next ones begin behind them', async () => {
    const pool = countingPool(fixture.pool);
    const store = new PgOutboxStore(pool, { wakeup: false });
    const claimed = await store.fetchPending(LIMIT, EXCEPT);
    expect(claimed.map(({ topic }) => topic)).toEqual(Array(LIMIT).fill('here'));
    // 500, 1,000, 2,000, 4,000 and twice 8,000 rows.
    expect(pool.taken()).toEqual(Array(6).fill('with due_window'));
    await store.settle(
      claimed[0]?.claimToken,
      claimed.map(({ id }) => ({ id, kind: 'released' })),
    );
  });
});
