import { postgres, type SqlStatement } from '@postcommit/store-sql';
import { beforeAll, describe, expect, it } from 'vitest';
import { explained } from './explained.js';
import { usePostgres } from './postgres-fixture.js';
import { TABLE } from './sql-session.js';

const DISPATCHED = 100_000;
/** Of each kind. */
const PENDING = 20_000;
/** Of each kind. */
const HELD = 50;

/** With `w1`, the worker that holds rows; `w2` holds none. */
const CASES: readonly (readonly [name: string, statement: (id: string) => SqlStatement])[] = [
  ['ending its claims', (id) => postgres.workers.endClaims(TABLE, id, 1_000) as SqlStatement],
  ['forgetting it', (id) => postgres.workers.forgetLost(TABLE, id) as SqlStatement],
];

describe(`a lost worker, with ${DISPATCHED} rows that it dispatched and ${2 * PENDING} pending ones`, () => {
  const fixture = usePostgres();

  beforeAll(async () => {
    await fixture.query('alter table outbox set (autovacuum_enabled = false)');
    const insert = (rows: string): Promise<unknown> =>
      fixture.query(
        `insert into outbox (id, topic, payload, key, dispatched_at, claim_token, claimed_at, claimed_until) ${rows}`,
      );
    await insert(`select 'd' || n, 't', '{}', case when n % 2 = 0 then 'k' || n % 1000 end, now(), 'w1.' || n, now(),
        now() + interval '1 hour' from generate_series(1, ${DISPATCHED}) n`);
    await insert(`select 'p' || n, 't', '{}', case when n % 2 = 0 then 'k' || n % 1000 end, null,
        case when n <= ${2 * HELD} then 'w1.x' end, case when n <= ${2 * HELD} then now() end,
        case when n <= ${2 * HELD} then now() + interval '1 hour' end from generate_series(1, ${2 * PENDING}) n`);
    await fixture.query(
      `insert into outbox_workers
       select 'w' || n, 'h', 1, '1', now(), now(), 20000, 0, false, '[]', now() from generate_series(1, 2) n`,
    );
  });

  describe.each(['never analysed', 'analysed'])('%s', (statistics) => {
    beforeAll(async () => {
      if (statistics === 'analysed') await fixture.query('analyze outbox');
    });

    describe.each(CASES)('%s', (_name, statement) => {
      it.each([
        ['custom', 'w1'],
        ['custom', 'w2'],
        ['generic', 'w1'],
        ['generic', 'w2'],
      ] as const)('reads no dispatched row: %s plan, worker %s', async (mode, id) => {
        const plan = await explained(fixture.pool, statement(id), mode);
        expect(plan.seqScans).toBe(0);
        // The pending ones, and once more those that are locked and changed.
        expect(plan.rowsRead).toBeLessThanOrEqual(2 * PENDING + 2 * HELD + 2 * HELD);
      });
    });
  });
});
