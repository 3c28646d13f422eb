import { describeOnMysql } from '@internal/test-database/mysql-test-database';
import { mysql, type TableName } from '@postcommit/store-sql';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { UnkeyedClaim } from '../src/dialect.js';
import { useMysql } from './mysql-fixture.js';
import { claimedIds, claimOf, newRow, type SqlSession, WorkInSteps } from './sql-session.js';

const HOUR_MS = 3_600_000;

describeOnMysql('on MariaDB or MySQL', () => {
  const fixture = useMysql();
  const { table } = fixture;
  let dispatcher: SqlSession;
  let other: SqlSession;

  beforeEach(async () => {
    await fixture.clear();
    dispatcher = await fixture.connect();
    // Whoever waits for a lock here fails.
    other = await fixture.connect({ lockTimeoutMs: 1 });
  });

  afterEach(async () => {
    await Promise.all([dispatcher, other].map((session) => session.end().catch(() => {})));
  });

  const enqueue = (...rows: (readonly [id: string, key?: string])[]): Promise<unknown> =>
    fixture.executor(
      mysql.insert(
        table,
        rows.map(([id, key]) => newRow(id, key)),
      ),
    );

  describe.each(['repeatable read', 'read committed'])('a producer at %s', (level) => {
    /** Rows before, between and behind those that are there, by id and by key. */
    const produce = async (serial: number): Promise<void> => {
      await other.sql(`set transaction isolation level ${level}`);
      await other.beginByDefault();
      const rows = [newRow(`a${serial}`, 'k'), newRow(`m${serial}x`), newRow(`z${serial}`, `k${serial}`)];
      await other.run(mysql.insert(table, rows));
      await other.commit();
    };

    it.each(['keyed', 'unkeyed'])(
      'never waits for a claim of %s rows, whatever step it is at',
      async (kind) => {
        await enqueue(['m1', 'k'], ['m2', 'k'], ['m3', 'l'], ['m4'], ['m5']);
        await dispatcher.begin();
        const claim = claimOf({ limit: 2 });
        const work = new WorkInSteps(
          dispatcher,
          kind === 'keyed' ? mysql.claimKeyed(table, claim) : mysql.claimUnkeyed(table, claim),
        );
        for (let serial = 0; !work.isDone; serial++) {
          await produce(serial);
          await work.next();
        }
        await produce(100);
        expect(claimedIds(work.records)).toEqual(kind === 'keyed' ? ['m1', 'm3'] : ['m4', 'm5']);
        await dispatcher.commit();
      },
    );

    it('never waits for a settle, an extension or a retaken claim', async () => {
      await enqueue(['m1', 'k'], ['m2', 'k'], ['m3'], ['m4']);
      const claim = claimOf();
      await dispatcher.run(mysql.claimKeyed(table, claim));
      await dispatcher.run(mysql.claimUnkeyed(table, claim));
      const works = [
        mysql.extendClaim(table, claim.token, ['m1', 'm3'], HOUR_MS),
        mysql.settleDispatched(table, claim.token, ['m1', 'm3']),
        mysql.settleUnpublished(table, claim.token, [{ id: 'm2', kind: 'failed', error: 'x', delayMs: 0 }]),
        mysql.requeue(table, 'm2'),
        mysql.cancel(table, 'm2'),
      ];
      await dispatcher.begin();
      let serial = 0;
      for (const each of works) {
        await dispatcher.run(each);
        await produce(serial++);
      }
      await dispatcher.commit();
    });

    it('that has not committed is skipped', async () => {
      await other.sql(`set transaction isolation level ${level}`);
      await other.beginByDefault();
      await other.run(mysql.insert(table, [newRow('late', 'k'), newRow('later')]));
      await enqueue(['m1', 'k'], ['m2']);
      const hasty = await fixture.connect({ lockTimeoutMs: 1 });
      expect(claimedIds(await hasty.run(mysql.claimKeyed(table, claimOf())))).toEqual(['m1']);
      expect(claimedIds(await hasty.run(mysql.claimUnkeyed(table, claimOf())))).toEqual(['m2']);
      await hasty.end();
    });
  });

  describe('a search that locked the rows it skips would deadlock here', () => {
    it('a settle does not wait for a claim that skipped its row', async () => {
      await enqueue(['m1'], ['m2']);
      const first = claimOf({ limit: 1 });
      expect(claimedIds(await other.run(mysql.claimUnkeyed(table, first)))).toEqual(['m1']);
      await other.begin();
      const settle = new WorkInSteps(other, mysql.settleDispatched(table, first.token, ['m1']));
      await settle.next();
      await dispatcher.begin();
      expect(claimedIds(await dispatcher.run(mysql.claimUnkeyed(table, claimOf())))).toEqual(['m2']);
      expect(await settle.rest()).toEqual([{ id: 'm1' }]);
    });

    it('a settle does not wait for a claim that read its row without taking it', async () => {
      await enqueue(['m1'], ['m2']);
      const first = claimOf({ limit: 1 });
      await other.run(mysql.claimUnkeyed(table, first));
      await dispatcher.begin();
      expect(claimedIds(await dispatcher.run(mysql.claimUnkeyed(table, claimOf())))).toEqual(['m2']);
      expect(await other.run(mysql.settleDispatched(table, first.token, ['m1']))).toEqual([{ id: 'm1' }]);
    });

    it.each([
      { name: 'a claim', search: mysql.claimUnkeyed },
      {
        name: 'a claim that leaves out topics',
        search: (table: TableName, claim: UnkeyedClaim) =>
          mysql.claimUnkeyedExcept(table, { ...claimOf(), ...claim, exceptTopics: ['away'] }),
      },
    ])('$name replaces rows that others are claiming at the same time', async ({ search }) => {
      await enqueue(['m1'], ['m2'], ['m3'], ['m4'], ['m5']);
      await dispatcher.begin();
      const first = new WorkInSteps(dispatcher, search(table, claimOf({ limit: 2 })));
      await first.next();
      const second = new WorkInSteps(other, search(table, claimOf({ limit: 2 })));
      await other.begin();
      await second.next();
      expect(claimedIds(await first.rest())).toEqual(['m1', 'm2']);
      expect(claimedIds(await second.rest())).toEqual(['m3', 'm4']);
    });
  });

  describe('sessions in other time zones', () => {
    const ZONES = ['+13:00', '-11:00'] as const;

    beforeEach(async () => {
      await dispatcher.sql(`set time_zone = '${ZONES[0]}'`);
      await other.sql(`set time_zone = '${ZONES[1]}'`);
    });

    it('a live claim is not taken over, an expired one is', async () => {
      await dispatcher.run(mysql.insert(table, [newRow('m1'), newRow('m2', 'k')]));
      expect(claimedIds(await dispatcher.run(mysql.claimUnkeyed(table, claimOf())))).toEqual(['m1']);
      expect(claimedIds(await other.run(mysql.claimKeyed(table, claimOf())))).toEqual(['m2']);
      for (const session of [dispatcher, other]) {
        expect(claimedIds(await session.run(mysql.claimUnkeyed(table, claimOf())))).toEqual([]);
        expect(claimedIds(await session.run(mysql.claimKeyed(table, claimOf())))).toEqual([]);
      }
      await fixture.shiftTimes(HOUR_MS + 1_000);
      expect(claimedIds(await other.run(mysql.claimUnkeyed(table, claimOf())))).toEqual(['m1']);
      expect(claimedIds(await dispatcher.run(mysql.claimKeyed(table, claimOf())))).toEqual(['m2']);
    });

    it('a scheduled row is due for all at the same time', async () => {
      const availableAt = new Date(Date.now() + HOUR_MS);
      await other.run(mysql.insert(table, [{ ...newRow('m1'), availableAt }, newRow('m2', 'k')]));
      expect(claimedIds(await dispatcher.run(mysql.claimUnkeyed(table, claimOf())))).toEqual([]);
      expect(claimedIds(await dispatcher.run(mysql.claimKeyed(table, claimOf())))).toEqual(['m2']);
      await fixture.shiftTimes(HOUR_MS);
      expect(claimedIds(await dispatcher.run(mysql.claimUnkeyed(table, claimOf())))).toEqual(['m1']);
    });

    it('the search for free keys continues where it stopped', async () => {
      const rows = Array.from({ length: 12 }, (_, index) => newRow(`m${index}`, `k${index}`));
      await other.run(mysql.insert(table, rows));
      const [seen] = await dispatcher.run(mysql.claimKeyed(table, claimOf({ window: 10 })));
      const after = { availableAt: String(seen?.last_available_at), seq: String(seen?.last_seq) };
      const next = await other.run(mysql.claimKeyed(table, claimOf({ window: 10, after })));
      expect(claimedIds(next)).toEqual(['m10', 'm11']);
    });
  });
});
