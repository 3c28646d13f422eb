import type { SqlWork } from '@postcommit/store-sql';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SessionOptions } from './sql-fixture.js';
import { claimedIds, claimOf, newRow, type SqlSession, untilBlocked } from './sql-session.js';
import { describeOnDatabases } from './test-databases.js';

const HOUR_MS = 3_600_000;

describeOnDatabases((fixture) => {
  const { dialect, table } = fixture;
  const quoted = (column: string): string => `${dialect.quote}${column}${dialect.quote}`;

  let sessions: SqlSession[] = [];
  let alice: SqlSession;
  let bob: SqlSession;
  let operator: SqlSession;

  beforeEach(async () => {
    await fixture.clear();
    alice = await connect();
    // Whoever waits for a lock here fails, unless the test says that it waits.
    bob = await connect({ lockTimeoutMs: 2_000 });
    operator = await connect();
  });

  afterEach(async () => {
    await Promise.all(sessions.map((session) => session.end().catch(() => {})));
    sessions = [];
  });

  async function connect(options?: SessionOptions): Promise<SqlSession> {
    const session = await fixture.connect(options);
    sessions.push(session);
    return session;
  }

  interface OpenClaim {
    readonly token: string;
    readonly ids: string[];
  }

  /** Lock and claim; the transaction stays open. */
  async function claimUncommitted(session: SqlSession, limit = 10): Promise<OpenClaim> {
    const claim = claimOf({ limit });
    await session.begin();
    return { token: claim.token, ids: claimedIds(await session.run(dialect.claimKeyed(table, claim))) };
  }

  async function claim(session: SqlSession, limit = 10): Promise<OpenClaim> {
    const claimed = await claimUncommitted(session, limit);
    await session.commit();
    return claimed;
  }

  /**
   * Lets the second claimer run against the first one's claim. Not yet committed: the second waits for the lock, and
   * continues when the first commits. Its result must be the same either way.
   */
  async function claimAgainst(first: 'committed' | 'not yet committed', limit = 10): Promise<string[]> {
    if (first === 'committed') {
      await alice.commit();
      return (await claim(bob, limit)).ids;
    }
    const second = claim(bob, limit);
    await untilBlocked(bob);
    await alice.commit();
    return (await second).ids;
  }

  const enqueue = (...rows: (readonly [id: string, key?: string])[]): Promise<unknown> =>
    operator.run(
      dialect.insert(
        table,
        rows.map(([id, key]) => newRow(id, key)),
      ),
    );

  const dispatched = (session: SqlSession, { token }: OpenClaim, ids: readonly string[]): Promise<string[]> =>
    session.run(dialect.settleDispatched(table, token, ids)).then(claimedIds);

  const failed = (
    session: SqlSession,
    { token }: OpenClaim,
    id: string,
    delayMs: number,
  ): Promise<string[]> =>
    session
      .run(dialect.settleUnpublished(table, token, [{ id, kind: 'failed', error: 'x', delayMs }]))
      .then(claimedIds);

  const dead = (session: SqlSession, token: string | undefined, id: string): Promise<string[]> =>
    session
      .run(dialect.settleUnpublished(table, token, [{ id, kind: 'dead', error: 'x', reason: 'permanent' }]))
      .then(claimedIds);

  const released = (session: SqlSession, { token }: OpenClaim, ids: readonly string[]): Promise<string[]> =>
    session
      .run(
        dialect.settleUnpublished(
          table,
          token,
          ids.map((id) => ({ id, kind: 'released' as const })),
        ),
      )
      .then(claimedIds);

  async function ownersOf(key: string): Promise<number> {
    const [record] = await fixture.query(
      `select count(distinct claim_token) as owners from ${table.sql}
       where ${quoted('key')} = '${key}' and dispatched_at is null and dead_at is null and claimed_until > ${fixture.now}`,
    );
    return Number(record?.owners);
  }

  describe.each(['committed', 'not yet committed'] as const)('the first claimer has %s', (first) => {
    it('a second claimer does not claim the rest of the key', async () => {
      await enqueue(['m1', 'k'], ['m2', 'k'], ['m3', 'k'], ['other', 'l']);
      expect((await claimUncommitted(alice, 1)).ids).toEqual(['m1']);
      expect(await claimAgainst(first)).toEqual(['other']);
      expect(await ownersOf('k')).toBe(1);
    });

    it('a row that commits late waits for the later row of its key in flight', async () => {
      const producer = await connect();
      await producer.beginByDefault();
      await producer.run(dialect.insert(table, [newRow('older', 'k')]));
      await enqueue(['younger', 'k']);
      const inFlight = await claimUncommitted(alice);
      expect(inFlight.ids).toEqual(['younger']);
      await producer.commit();
      expect(await claimAgainst(first)).toEqual([]);
      expect(await ownersOf('k')).toBe(1);
      await released(alice, inFlight, ['younger']);
      expect((await claim(bob)).ids).toEqual(['older', 'younger']);
    });

    it('a row that commits while the second claimer waits is not claimed beside the later row of its key', async () => {
      const producer = await connect();
      await producer.beginByDefault();
      await producer.run(dialect.insert(table, [newRow('older', 'k')]));
      await enqueue(['younger', 'k']);
      await claimUncommitted(alice);
      if (first === 'committed') await alice.commit();
      const second = claim(bob);
      if (first === 'committed') expect((await second).ids).toEqual([]);
      else await untilBlocked(bob);
      await producer.commit();
      if (first === 'not yet committed') await alice.commit();
      expect((await second).ids).toEqual([]);
      expect((await claim(bob)).ids).toEqual([]);
      expect(await ownersOf('k')).toBe(1);
    });

    it('a dead row requeued while a later row of its key is in flight waits for that row', async () => {
      await enqueue(['m1', 'k'], ['m2', 'k']);
      await dead(operator, undefined, 'm1');
      const inFlight = await claimUncommitted(alice);
      expect(inFlight.ids).toEqual(['m2']);
      await operator.run(dialect.requeue(table, 'm1'));
      expect(await claimAgainst(first)).toEqual([]);
      await dispatched(alice, inFlight, ['m2']);
      expect((await claim(bob)).ids).toEqual(['m1']);
    });

    it('a row that commits while an earlier row of its key is claimed waits for it', async () => {
      await enqueue(['head', 'k']);
      const inFlight = await claimUncommitted(alice);
      await enqueue(['follower', 'k']);
      expect(await claimAgainst(first)).toEqual([]);
      await dispatched(alice, inFlight, ['head']);
      expect((await claim(bob)).ids).toEqual(['follower']);
    });

    it('a row that backs off holds back the next row of its key, even if it is due later', async () => {
      await enqueue(['m1', 'k'], ['m2', 'k'], ['other', 'l']);
      const inFlight = await claim(alice, 1);
      await alice.begin();
      expect(await failed(alice, inFlight, 'm1', HOUR_MS)).toEqual(['m1']);
      if (first === 'committed') await alice.commit();
      expect((await claim(bob)).ids, 'no claim waits for a settle').toEqual(['other']);
      if (first === 'not yet committed') await alice.commit();
      expect((await claim(bob)).ids).toEqual([]);
      await fixture.shiftTimes(HOUR_MS + 1_000);
      await fixture.query(`delete from outbox where id = 'other'`);
      expect((await claim(bob, 2)).ids, 'the head first, although it fell due last').toEqual(['m1', 'm2']);
    });

    it('a row that dies lets the next row of its key continue, but not before it commits', async () => {
      await enqueue(['m1', 'k'], ['m2', 'k']);
      const inFlight = await claim(alice, 1);
      await alice.begin();
      expect(await dead(alice, inFlight.token, 'm1')).toEqual(['m1']);
      if (first === 'not yet committed') expect((await claim(bob)).ids).toEqual([]);
      await alice.commit();
      expect((await claim(bob)).ids).toEqual(['m2']);
    });

    it('an operator who requeues a pending row keeps its place, and the next row of its key waits', async () => {
      await enqueue(['m1', 'k'], ['m2', 'k'], ['other', 'l']);
      await operator.begin();
      await operator.run(dialect.requeue(table, 'm1'));
      if (first === 'committed') await operator.commit();
      const expected = first === 'committed' ? ['m1', 'm2', 'other'] : ['other'];
      expect((await claim(bob)).ids).toEqual(expected);
      if (first === 'not yet committed') {
        await operator.commit();
        expect((await claim(bob)).ids).toEqual(['m1', 'm2']);
      }
    });

    it('an operator who cancels a row: the next row of its key waits for the commit', async () => {
      await enqueue(['m1', 'k'], ['m2', 'k']);
      await operator.begin();
      await operator.run(dialect.cancel(table, 'm1'));
      if (first === 'committed') await operator.commit();
      expect((await claim(bob)).ids).toEqual(first === 'committed' ? ['m2'] : []);
    });

    it('an operator’s lock in the middle of a key ends the batch there', async () => {
      await enqueue(['m1', 'k'], ['m2', 'k'], ['m3', 'k']);
      await operator.begin();
      await operator.run(dialect.requeue(table, 'm2'));
      if (first === 'committed') await operator.commit();
      expect((await claim(bob)).ids).toEqual(first === 'committed' ? ['m1', 'm2', 'm3'] : ['m1']);
    });

    it('an expired owner that settles while its row is taken over is fenced', async () => {
      await enqueue(['m1', 'k']);
      const expired = await claim(alice);
      await fixture.shiftTimes(HOUR_MS + 1_000);
      const retaken = await claimUncommitted(bob);
      expect(retaken.ids).toEqual(['m1']);
      if (first === 'committed') {
        await bob.commit();
        expect(await dispatched(alice, expired, ['m1'])).toEqual([]);
      } else {
        const late = dispatched(alice, expired, ['m1']);
        await untilBlocked(alice);
        await bob.commit();
        expect(await late).toEqual([]);
      }
      expect(await dispatched(bob, retaken, ['m1'])).toEqual(['m1']);
    });

    it('a row that an expired owner settles is not taken over', async () => {
      await enqueue(['m1', 'k'], ['m2', 'k']);
      const expired = await claim(alice, 1);
      await fixture.shiftTimes(HOUR_MS + 1_000);
      await alice.begin();
      expect(await dispatched(alice, expired, ['m1'])).toEqual(['m1']);
      if (first === 'not yet committed') expect((await claim(bob)).ids).toEqual([]);
      await alice.commit();
      expect((await claim(bob)).ids).toEqual(['m2']);
    });

    it('an unkeyed row that an expired owner settles is not taken over, and nobody waits', async () => {
      await enqueue(['m1']);
      const old = claimOf();
      await alice.run(dialect.claimUnkeyed(table, old));
      await fixture.shiftTimes(HOUR_MS + 1_000);
      await alice.begin();
      expect(claimedIds(await alice.run(dialect.settleDispatched(table, old.token, ['m1'])))).toEqual(['m1']);
      if (first === 'committed') await alice.commit();
      expect(claimedIds(await bob.run(dialect.claimUnkeyed(table, claimOf())))).toEqual([]);
    });

    it.each([
      { from: 'the front', after: undefined, isBacklog: false },
      { from: 'a place before both', after: { availableAt: '0', seq: '0' }, isBacklog: false },
      { from: 'the end of a full batch', after: { availableAt: '0', seq: '0' }, isBacklog: true },
    ])(
      'an unkeyed claim from $from skips a claimed row, and nobody waits',
      async ({ from: _, ...search }) => {
        await enqueue(['m1'], ['m2']);
        await alice.begin();
        const one = claimOf({ limit: 1, ...search });
        expect(claimedIds(await alice.run(dialect.claimUnkeyed(table, one)))).toEqual(['m1']);
        if (first === 'committed') await alice.commit();
        const hasty = await connect({ lockTimeoutMs: 1 });
        expect(claimedIds(await hasty.run(dialect.claimUnkeyed(table, claimOf(search))))).toEqual(['m2']);
      },
    );
  });

  describe('a claim that leaves out topics', () => {
    const EXCEPT = { exceptTopics: ['away'] };
    const unkeyed = (limit: number): SqlWork =>
      dialect.claimUnkeyedExcept(table, { ...claimOf({ limit }), ...EXCEPT });

    it.each(['committed', 'not yet committed'])(
      'skips a claimed row without a key, %s, and nobody waits',
      async (first) => {
        await enqueue(['m1'], ['m2']);
        await alice.begin();
        expect(claimedIds(await alice.run(unkeyed(1)))).toEqual(['m1']);
        if (first === 'committed') await alice.commit();
        const hasty = await connect({ lockTimeoutMs: 1 });
        expect(claimedIds(await hasty.run(unkeyed(10)))).toEqual(['m2']);
      },
    );

    it('takes the next row of its window for each that another one takes', async () => {
      await enqueue(['m1'], ['m2'], ['m3']);
      await alice.begin();
      expect(claimedIds(await alice.run(dialect.claimUnkeyed(table, claimOf({ limit: 1 }))))).toEqual(['m1']);
      expect(claimedIds(await bob.run(unkeyed(2)))).toEqual(['m2', 'm3']);
    });

    it('does not overtake a row that is left out, which another one has claimed', async () => {
      await enqueue(['m1', 'k'], ['m2', 'k'], ['m3', 'l']);
      await operator.sql(`update outbox set topic = 'away' where id = 'm1'`);
      const keyed = { ...claimOf(), ...EXCEPT };
      await alice.begin();
      expect(claimedIds(await alice.run(dialect.claimKeyed(table, claimOf({ limit: 1 }))))).toEqual(['m1']);
      const claiming = bob.run(dialect.claimKeyed(table, keyed));
      await untilBlocked(bob);
      await alice.rollback();
      expect(claimedIds(await claiming)).toEqual(['m3']);
    });
  });

  describe('the lock of keyed claims', () => {
    it('never blocks an unkeyed claim', async () => {
      await enqueue(['m1', 'k'], ['free']);
      await claimUncommitted(alice);
      const hasty = await connect({ lockTimeoutMs: 1 });
      expect(claimedIds(await hasty.run(dialect.claimUnkeyed(table, claimOf())))).toEqual(['free']);
    });

    it('never blocks a producer, a settle or an operator', async () => {
      await enqueue(['m1', 'k'], ['m2', 'l']);
      const held = await claim(operator, 1);
      await claimUncommitted(alice);
      const hasty = await connect({ lockTimeoutMs: 1 });
      await hasty.run(dialect.insert(table, [newRow('m3', 'k')]));
      expect(await dispatched(hasty, held, held.ids)).toEqual(held.ids);
      await hasty.run(dialect.requeue(table, held.ids[0] ?? ''));
    });
  });

  describe('an expired owner', () => {
    it('can’t revive its claim on the rest of a key whose first row was taken over', async () => {
      await enqueue(['m1', 'k'], ['m2', 'k']);
      const expired = await claim(alice);
      expect(expired.ids).toEqual(['m1', 'm2']);
      await fixture.shiftTimes(HOUR_MS + 1_000);
      expect((await claim(bob)).ids).toEqual(['m1']);
      const extended = await alice.run(dialect.extendClaim(table, expired.token, ['m1', 'm2'], HOUR_MS));
      expect(await ownersOf('k'), 'two owners of one key').toBe(1);
      expect(claimedIds(extended)).toEqual([]);
    });

    it('can’t revive its claim on a later row after a late first row was claimed', async () => {
      const producer = await connect();
      await producer.beginByDefault();
      await producer.run(dialect.insert(table, [newRow('older', 'k')]));
      await enqueue(['younger', 'k']);
      const expired = await claim(alice);
      await producer.commit();
      await fixture.shiftTimes(HOUR_MS + 1_000);
      expect((await claim(bob)).ids).toEqual(['older']);
      await alice.run(dialect.extendClaim(table, expired.token, ['younger'], HOUR_MS));
      expect(await ownersOf('k'), 'two owners of one key').toBe(1);
    });

    it('can’t extend a claim on a key that is about to expire: others may see its old end until that is committed', async () => {
      await enqueue(['m1', 'k'], ['free']);
      const last = await claim(alice);
      const unkeyed = claimOf();
      await alice.run(dialect.claimUnkeyed(table, unkeyed));
      await fixture.shiftTimes(HOUR_MS - 500);
      expect(await alice.run(dialect.extendClaim(table, last.token, ['m1'], HOUR_MS))).toEqual([]);
      expect(
        claimedIds(await alice.run(dialect.extendClaim(table, unkeyed.token, ['free'], HOUR_MS))),
      ).toEqual(['free']);
    });

    it('that extends while its row is taken over is fenced', async () => {
      await enqueue(['m1']);
      const expired = claimOf();
      await alice.run(dialect.claimUnkeyed(table, expired));
      await fixture.shiftTimes(HOUR_MS + 1_000);
      await bob.begin();
      expect(claimedIds(await bob.run(dialect.claimUnkeyed(table, claimOf())))).toEqual(['m1']);
      const extended = alice.run(dialect.extendClaim(table, expired.token, ['m1'], HOUR_MS));
      await untilBlocked(alice);
      await bob.commit();
      expect(await extended).toEqual([]);
    });

    it('can still extend an unkeyed row that nobody has taken over', async () => {
      await enqueue(['m1']);
      const expired = claimOf();
      await alice.run(dialect.claimUnkeyed(table, expired));
      await fixture.shiftTimes(HOUR_MS + 1_000);
      const extended = await alice.run(dialect.extendClaim(table, expired.token, ['m1'], HOUR_MS));
      expect(claimedIds(extended)).toEqual(['m1']);
    });
  });

  describe('a requeue during a settle', () => {
    // Fails, finding nothing: each half of one statement sees the row in the state that it had for the other one.
    it('of a pending row that is dispatched meanwhile still requeues it', async () => {
      await enqueue(['m1', 'k']);
      const inFlight = await claim(alice);
      await alice.begin();
      await dispatched(alice, inFlight, ['m1']);
      const requeued = operator.run(dialect.requeue(table, 'm1'));
      await untilBlocked(operator);
      await alice.commit();
      expect(await requeued).toHaveLength(1);
      expect((await claim(bob)).ids).toEqual(['m1']);
    });
  });

  describe('a cancel that waits for a row', () => {
    it('that is being claimed reports that it may still be published', async () => {
      await enqueue(['m1']);
      await alice.begin();
      await alice.run(dialect.claimUnkeyed(table, claimOf()));
      const cancelled = operator.run(dialect.cancel(table, 'm1'));
      await untilBlocked(operator);
      await alice.commit();
      expect(await cancelled).toEqual([{ id: 'm1', was_claimed: true }]);
    });

    it('that is being dispatched changes nothing', async () => {
      await enqueue(['m1', 'k']);
      const inFlight = await claim(alice);
      await alice.begin();
      await dispatched(alice, inFlight, ['m1']);
      const cancelled = operator.run(dialect.cancel(table, 'm1'));
      await untilBlocked(operator);
      await alice.commit();
      expect(await cancelled).toEqual([]);
    });
  });

  it('if two operators requeue the same rows at once, one of them does', async () => {
    await enqueue(['m1', 'k'], ['m2', 'k']);
    const dead = { kind: 'dead', error: 'no', reason: 'permanent' } as const;
    const outcomes = ['m1', 'm2'].map((id) => ({ id, ...dead }));
    await operator.run(dialect.settleUnpublished(table, undefined, outcomes));
    await alice.begin();
    expect(await alice.run(dialect.requeueWhere(table, { state: 'dead' }, 10))).toHaveLength(2);
    const second = operator.run(dialect.requeueWhere(table, { state: 'dead' }, 10));
    await untilBlocked(operator);
    await alice.commit();
    expect(await second).toEqual([]);
    expect((await claim(bob)).ids).toEqual(['m1', 'm2']);
  });
});
