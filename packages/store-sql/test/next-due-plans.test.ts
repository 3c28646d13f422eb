import { describeOnMysql } from '@internal/test-database/mysql-test-database';
import { mysql, postgres } from '@postcommit/store-sql';
import { beforeAll, describe, expect, it } from 'vitest';
import { explained } from './explained.js';
import { useMysql } from './mysql-fixture.js';
import { usePostgres } from './postgres-fixture.js';
import { TABLE } from './sql-session.js';

/** Rows that are due, and as many that fall due later; half of each have a key. */
const ROWS = 100_000;
/** The first row that falls due later, in seconds. */
const FIRST_S = 60;
/** One index entry of each kind. */
const ENTRIES = 2;

describe(`with ${ROWS} rows due and ${ROWS} for later, on PostgreSQL`, () => {
  const fixture = usePostgres();

  beforeAll(async () => {
    await fixture.query('alter table outbox set (autovacuum_enabled = false)');
    await fixture.query(
      `insert into outbox (id, topic, payload, key, available_at)
       select 'r' || n, 't', '{}', case when n % 4 < 2 then 'k' || n % 1000 end,
         case when n % 2 = 0 then now() - n * interval '1 second' else now() + (${FIRST_S} + n) * interval '1 second' end
       from generate_series(0, ${2 * ROWS - 1}) n`,
    );
  });

  describe.each(['never analysed', 'analysed'])('%s', (statistics) => {
    beforeAll(async () => {
      if (statistics === 'analysed') await fixture.query('analyze outbox');
    });

    it.each(['custom', 'generic'] as const)(
      'the next due time is one entry of each index, %s plan',
      async (mode) => {
        const plan = await explained(fixture.pool, postgres.lookAhead(TABLE), mode);
        expect(plan.seqScans).toBe(0);
        expect(plan.rowsRead).toBe(ENTRIES);
        expect(plan.rowsSorted).toBeLessThanOrEqual(1);
      },
    );
  });

  it('and it is the right one', async () => {
    const [record] = await fixture.query(postgres.lookAhead(TABLE).text);
    expect(Number(record?.in_ms)).toBeLessThanOrEqual(FIRST_S * 1_000 + 1_000);
    expect(Number(record?.in_ms)).toBeGreaterThan(0);
  });
});

describeOnMysql(`with ${ROWS} rows due and ${ROWS} for later, on MariaDB or MySQL`, () => {
  const fixture = useMysql();
  const { table } = fixture;

  beforeAll(async () => {
    const digits =
      '(select 0 d union select 1 union select 2 union select 3 union select 4 union select 5 union select 6 union select 7 union select 8 union select 9)';
    const numbers = `select 20000 * a.d + 2000 * b.d + 200 * c.d + 20 * e.d + 2 * f.d as n
      from ${digits} a, ${digits} b, ${digits} c, ${digits} e, ${digits} f`;
    const insert = (time: string): Promise<unknown> =>
      fixture.query(
        `insert into outbox (id, topic, payload, \`key\`, available_at)
         select uuid(), 't', '{}', if(n % 4, 'k', null), ${time} from (${numbers}) numbers`,
      );
    await insert('utc_timestamp(6) - interval n second');
    await insert(`utc_timestamp(6) + interval (${FIRST_S} + n) second`);
  }, 120_000);

  it('the next due time is one entry of each index', async () => {
    const connection = await fixture.pool.getConnection();
    try {
      const { text } = mysql.lookAhead(table);
      // The first look at a table also reads its statistics.
      await connection.query(text);
      await connection.query('flush status');
      const [found] = await connection.query(text);
      const [status] = await connection.query("show session status like 'Handler_read%'");
      const counters = status as { Variable_name: string; Value: string }[];
      const read = counters.filter(({ Variable_name }) => !/rnd/.test(Variable_name));
      expect(read.reduce((sum, { Value }) => sum + Number(Value), 0)).toBeLessThanOrEqual(ENTRIES + 2);
      const [record] = found as { in_ms: unknown }[];
      expect(Number(record?.in_ms)).toBeLessThanOrEqual(FIRST_S * 1_000);
      expect(Number(record?.in_ms)).toBeGreaterThan(0);
    } finally {
      connection.release();
    }
  });
});
