import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SqlProcessedMessages } from '../src/capabilities/sql-processed-messages.js';
import { type SqlSession, untilBlocked } from './sql-session.js';
import { describeOnDatabases } from './test-databases.js';

describeOnDatabases((fixture) => {
  let alice: SqlSession;
  let bob: SqlSession;

  const processed = () =>
    new SqlProcessedMessages<SqlSession>((work, tx) => (tx ? tx.run(work) : fixture.executor(work)), {
      dialect: fixture.dialect,
    });

  beforeEach(async () => {
    await fixture.query('truncate table outbox_processed');
    alice = await fixture.connect();
    bob = await fixture.connect();
  });

  afterEach(async () => {
    await Promise.all([alice, bob].map((session) => session.end().catch(() => {})));
  });

  /** Processes the row in a transaction that stays open. Returns whether the handler ran. */
  async function process(session: SqlSession, consumer = 'mailer', rowId = 'm1'): Promise<boolean> {
    await session.begin();
    let runs = 0;
    const ran = await processed().processOnce(session, consumer, rowId, async () => {
      runs++;
    });
    expect(runs).toBe(ran ? 1 : 0);
    return ran;
  }

  describe('SqlProcessedMessages', () => {
    it('runs the first time, skips the second', async () => {
      expect(await process(alice)).toBe(true);
      await alice.commit();
      expect(await process(bob)).toBe(false);
      await bob.commit();
    });

    it('skips a repetition in the same transaction', async () => {
      expect(await process(alice)).toBe(true);
      const again = await processed().processOnce(alice, 'mailer', 'm1', () =>
        Promise.reject(new Error('ran')),
      );
      expect(again).toBe(false);
    });

    it('other consumers and other rows are independent', async () => {
      expect(await process(alice)).toBe(true);
      await alice.commit();
      expect(await process(alice, 'accounting')).toBe(true);
      await alice.commit();
      expect(await process(alice, 'mailer', 'm2')).toBe(true);
      await alice.commit();
    });

    it('the error of a handler reaches the caller, and a rollback discards the message', async () => {
      await alice.begin();
      const failing = processed().processOnce(alice, 'mailer', 'm1', () =>
        Promise.reject(new Error('smtp down')),
      );
      await expect(failing).rejects.toThrow('smtp down');
      await alice.rollback();
      expect(await process(bob)).toBe(true);
    });

    it('of two concurrent consumers the second waits, and skips if the first commits', async () => {
      expect(await process(alice)).toBe(true);
      const second = process(bob);
      await untilBlocked(bob);
      await alice.commit();
      expect(await second).toBe(false);
    });

    it('of two concurrent consumers the second waits, and runs if the first rolls back', async () => {
      expect(await process(alice)).toBe(true);
      const second = process(bob);
      await untilBlocked(bob);
      await alice.rollback();
      expect(await second).toBe(true);
    });

    it('a consumer that dies between its handler and its commit has processed nothing', async () => {
      await fixture.query('create table if not exists points (total int)');
      await fixture.query('truncate points');
      await alice.begin();
      const credit = (session: SqlSession) => () =>
        session.sql('insert into points values (10)').then(() => {});
      expect(await processed().processOnce(alice, 'points', 'm1', credit(alice))).toBe(true);
      await alice.kill();
      await bob.begin();
      expect(await processed().processOnce(bob, 'points', 'm1', credit(bob))).toBe(true);
      await bob.commit();
      expect(await fixture.query('select total from points')).toEqual([{ total: 10 }]);
      await fixture.query('drop table points');
    });

    it('purge deletes what is older, by the database’s clock, and nothing else', async () => {
      await process(alice, 'mailer', 'old');
      await alice.commit();
      await fixture.query(`update outbox_processed set processed_at = ${fixture.now} - interval '2' hour`);
      await process(alice, 'mailer', 'new');
      await alice.commit();
      expect(await processed().purge({ ageMs: 3_600_000 })).toBe(1);
      expect(await process(alice, 'mailer', 'old')).toBe(true);
      await alice.commit();
      expect(await process(alice, 'mailer', 'new')).toBe(false);
      await alice.commit();
    });

    it.each([-1, Number.NaN, Number.POSITIVE_INFINITY, '7d', undefined])(
      'purge rejects an age of %j',
      async (ageMs) => {
        await expect(processed().purge({ ageMs: ageMs as number })).rejects.toMatchObject({
          code: 'INVALID_ARGUMENT',
          message: `purge: ageMs must be 0 or more, got ${String(ageMs)}`,
        });
      },
    );
  });
});
