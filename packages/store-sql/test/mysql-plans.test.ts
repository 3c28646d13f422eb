import { describeOnMysql } from '@internal/test-database/mysql-test-database';
import { mysql, type SqlStatement } from '@postcommit/store-sql';
import { beforeAll, expect, it } from 'vitest';
import { useMysql } from './mysql-fixture.js';
import { claimOf, statementsOf } from './sql-session.js';

const LIMIT = 100;

/** Of each state there are 3,125 rows. */
describeOnMysql('lists on MariaDB or MySQL', () => {
  const fixture = useMysql();
  const { table } = fixture;

  beforeAll(async () => {
    const digits = '(select 0 d union all select 1 union all select 2 union all select 3 union all select 4)';
    const numbers = `select 625 * a.d + 125 * b.d + 25 * c.d + 5 * e.d + f.d as n from ${digits} a, ${digits} b, ${digits} c, ${digits} e, ${digits} f`;
    const ended = (prefix: string, dispatchedAt: string, deadAt: string, key: string): Promise<unknown> =>
      fixture.query(
        `insert into outbox (id, topic, payload, dispatched_at, dead_at, \`key\`)
         select concat('${prefix}', n), if(n % 2, 'a', 'b'), '{}', ${dispatchedAt}, ${deadAt}, ${key} from (${numbers}) numbers`,
      );
    const ago = 'utc_timestamp(6) - interval n second';
    await ended('d', ago, 'null', 'null');
    await ended('x', 'null', ago, 'null');
    await ended('p', 'null', 'null', "if(n % 3, null, 'k')");
  });

  /** How many rows the storage engine was asked for. */
  async function rowsRead({ text, values }: SqlStatement): Promise<number> {
    const connection = await fixture.pool.getConnection();
    try {
      await connection.query('flush status');
      await connection.query(text, [...values]);
      const [status] = await connection.query("show session status like 'Handler_read%'");
      const counters = status as { Variable_name: string; Value: string }[];
      // Reads of the sorted result are not reads of the table.
      return counters
        .filter(({ Variable_name }) => !/rnd|deleted|retry/.test(Variable_name))
        .reduce((sum, { Value }) => sum + Number(Value), 0);
    } finally {
      connection.release();
    }
  }

  it.each([
    ['all rows', mysql.peek(table, {}, LIMIT), 4],
    ['the rows of a topic', mysql.peek(table, { topic: 'a' }, LIMIT), 12],
    ['pending rows', mysql.peek(table, { state: 'pending' }, LIMIT), 2],
    ['dead rows', mysql.peek(table, { state: 'dead' }, LIMIT), 1],
    [
      'dead rows to requeue',
      statementsOf(mysql.requeueWhere(table, { state: 'dead', topic: 'a' }, LIMIT))[0],
      3,
    ],
  ] as const)('peek at %s reads no more than the limit from each index', async (_name, statement, share) => {
    if (!statement) throw new Error('no statement');
    expect(await rowsRead(statement)).toBeLessThanOrEqual(share * LIMIT + 4);
  });

  it.each([100, 2_000])('a claim that leaves out all it sees reads a window of %i rows', async (window) => {
    const exceptTopics = ['a', 'b'];
    const [look, next] = statementsOf(
      mysql.claimUnkeyedExcept(table, { ...claimOf({ window }), exceptTopics }),
    );
    if (!look) throw new Error('no statement');
    // The rows, and the first with a key.
    expect(await rowsRead(look)).toBeLessThanOrEqual(window + 4);
    expect(next?.text, 'nothing is locked').toMatch(/as is_due/);
  });

  it('a keyed claim that leaves out all it sees reads its window', async () => {
    const claim = { ...claimOf({ window: 500 }), exceptTopics: ['a', 'b'] };
    const look = statementsOf(mysql.claimKeyed(table, claim)).find(({ text }) => /keyed_due_at/.test(text));
    if (!look) throw new Error('no statement');
    expect(await rowsRead(look)).toBeLessThanOrEqual(500 + 4);
  });

  it.each([undefined, 'a', 'k'])(
    'a sweep through the keys behind %o reads few rows of each',
    async (after) => {
      const found = await fixture.executor(mysql.pendingKeys(table, after, 500));
      expect(found).toEqual(after === 'k' ? [] : [{ key: 'k' }]);
      const [step] = statementsOf(mysql.pendingKeys(table, after, 500));
      if (!step) throw new Error('no statement');
      expect(await rowsRead(step)).toBeLessThanOrEqual(100);
    },
  );

  it('a keyed claim that looks up parked keys reads one row of each', async () => {
    const parked = ['k', ...Array.from({ length: 50 }, (_, index) => `none-${index}`)];
    // The window is empty and full at once, so that the claim takes all steps.
    const steps = statementsOf(mysql.claimKeyed(table, claimOf({ window: 0, parked })));
    const looks = steps.filter(({ text }) => /claimed_key in|claimed_key is not null|pending_key/.test(text));
    expect(looks.length).toBeGreaterThanOrEqual(3);
    for (const look of looks) expect(await rowsRead(look)).toBeLessThanOrEqual(2 * parked.length + 4);
  });
});
