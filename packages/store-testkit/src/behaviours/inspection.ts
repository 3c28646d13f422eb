import { expect } from 'vitest';
import {
  type BehaviourGroup,
  CLAIM_TIMEOUT_MS,
  claim,
  entries,
  entry,
  expectError,
  idsOf,
  stored,
} from '../behaviour.js';

export const inspection: BehaviourGroup = {
  name: 'inspection',
  behaviours: {
    'counts match the states of the rows': async (outbox) => {
      const store = outbox.createStore();
      await store.enqueue(entries(6));
      const { token } = await claim(store, 4);
      await store.markDispatched(['m1', 'm2'], token);
      await store.markDead('m3', 'no', { claimToken: token });
      expect(await store.count()).toEqual({ pending: 3, dispatched: 2, dead: 1, total: 6 });
    },

    'counts can be limited by a filter': async (outbox) => {
      const store = outbox.createStore();
      await store.enqueue([...entries(4), entry({ id: 'other', topic: 'order.refunded', key: 'k' })]);
      await store.markDispatched(['m1']);
      await store.markDead('m2', '502');
      await store.cancel('m3');
      const counts = async (filter: Parameters<typeof store.count>[0]) => store.count(filter);
      expect(await counts({ topic: 'order.paid' })).toEqual({ pending: 1, dispatched: 1, dead: 2, total: 4 });
      expect(await counts({ state: 'dead' })).toEqual({ pending: 0, dispatched: 0, dead: 2, total: 2 });
      expect(await counts({ error: '502' })).toEqual({ pending: 0, dispatched: 0, dead: 1, total: 1 });
      expect(await counts({ key: 'k' })).toMatchObject({ pending: 1, total: 1 });
      expect(await counts({ state: 'dead', exceptCancelled: true })).toMatchObject({ dead: 1, total: 1 });
      expect(await counts({ exceptCancelled: true })).toMatchObject({ pending: 2, dead: 1, total: 4 });
    },

    'dead rows are counted by topic and reason, the most frequent first': async (outbox) => {
      const store = outbox.createStore();
      const refunded = ['r1', 'r2', 'r3'].map((id) => entry({ id, topic: 'order.refunded' }));
      await store.enqueue([...entries(5), ...refunded]);
      expect(await store.countDead(10), 'nothing is dead').toEqual([]);
      for (const id of ['m1', 'm2']) await store.markDead(id, '400', { reason: 'permanent' });
      for (const id of ['r1', 'r2', 'r3']) await store.markDead(id, '502');
      await store.cancel('m3');
      await store.markDispatched(['m4']);
      const all = [
        { topic: 'order.refunded', reason: 'exhausted', count: 3 },
        { topic: 'order.paid', reason: 'permanent', count: 2 },
        { topic: 'order.paid', reason: 'cancelled', count: 1 },
      ];
      expect(await store.countDead(10)).toEqual(all);
      expect(await store.countDead(2), 'up to a limit').toEqual(all.slice(0, 2));
      await expectError(store.countDead(0), 'INVALID_ARGUMENT');
    },

    'the backlog is the number of pending and due rows, and the age of the oldest': async (outbox) => {
      const store = outbox.createStore();
      expect(await store.backlog()).toEqual({ pending: 0, due: 0, oldestPendingAgeMs: 0 });
      const nowMs = (await outbox.now()).getTime();
      await store.enqueue([
        entry({ id: 'late', availableAt: new Date(nowMs - 60_000) }),
        entry({ id: 'later', availableAt: new Date(nowMs - 120_000), key: 'k' }),
        entry({ id: 'future', availableAt: new Date(nowMs + 600_000) }),
      ]);
      const backlog = await store.backlog();
      expect(backlog, 'a row that is not due waits too').toMatchObject({ pending: 3, due: 2 });
      expect(backlog.oldestPendingAgeMs).toBeGreaterThanOrEqual(120_000);
      expect(backlog.oldestPendingAgeMs).toBeLessThan(180_000);
      expect(Number.isInteger(backlog.oldestPendingAgeMs), 'whole milliseconds').toBe(true);
      expect(await store.backlog(1), 'counted up to the limit').toMatchObject({ pending: 1, due: 1 });
      await store.markDispatched(['late']);
      await store.markDead('later', 'no');
      expect(await store.backlog(), 'what is not due has no age').toEqual({
        pending: 1,
        due: 0,
        oldestPendingAgeMs: 0,
      });
      await expectError(store.backlog(0), 'INVALID_ARGUMENT');
    },

    'peeking claims and changes nothing': async (outbox) => {
      const store = outbox.createStore();
      await store.enqueue(entries(2));
      const before = await store.peek({}, 10);
      expect(await store.peek({}, 10)).toEqual(before);
      expect((await claim(store)).ids).toEqual(['m1', 'm2']);
    },

    'a claimed row is listed with the time of its claim and its end': async (outbox) => {
      const store = outbox.createStore({ claimTimeoutMs: CLAIM_TIMEOUT_MS });
      await store.enqueue(entries(4));
      const earliest = (await outbox.now()).getTime();
      const { token } = await claim(store, 3);
      const latest = (await outbox.now()).getTime();
      const { claimedAt, claimedUntil } = await stored(store, 'm1');
      expect(claimedAt?.getTime()).toBeGreaterThanOrEqual(earliest);
      expect(claimedAt?.getTime()).toBeLessThanOrEqual(latest);
      expect(Number(claimedUntil) - Number(claimedAt)).toBe(CLAIM_TIMEOUT_MS);
      await outbox.advance(CLAIM_TIMEOUT_MS / 2);
      const before = await stored(store, 'm1');
      await store.extendClaim(token, ['m1']);
      const extended = await stored(store, 'm1');
      expect(extended.claimedAt, 'extended, not claimed again').toEqual(before.claimedAt);
      expect(Number(extended.claimedUntil)).toBeGreaterThan(Number(before.claimedUntil));
      await store.release(['m1'], token);
      await store.markDispatched(['m2'], token);
      await store.markDead('m3', 'no', { claimToken: token });
      for (const id of ['m1', 'm2', 'm3', 'm4']) {
        const row = await stored(store, id);
        expect(row, 'nobody may publish it under a claim').not.toHaveProperty('claimedAt');
        expect(row).not.toHaveProperty('claimedUntil');
      }
    },

    'rows can be filtered by state, up to a limit': async (outbox) => {
      const store = outbox.createStore();
      await store.enqueue(entries(5));
      await store.markDispatched(['m1']);
      await store.markDead('m2', 'no');
      expect(idsOf(await store.peek({ state: 'dispatched' }, 10))).toEqual(['m1']);
      expect(idsOf(await store.peek({ state: 'dead' }, 10))).toEqual(['m2']);
      expect(idsOf(await store.peek({ state: 'pending' }, 10))).toEqual(['m3', 'm4', 'm5']);
      expect(await store.peek({}, 10)).toHaveLength(5);
      expect(await store.peek({}, 2)).toHaveLength(2);
    },

    'pending rows are listed by due time, other rows latest first': async (outbox) => {
      const store = outbox.createStore();
      const nowMs = (await outbox.now()).getTime();
      await store.enqueue([
        entry({ id: 'second', availableAt: new Date(nowMs - 1_000) }),
        entry({ id: 'first', availableAt: new Date(nowMs - 2_000), key: 'k' }),
        entry({ id: 'future', availableAt: new Date(nowMs + 60_000) }),
      ]);
      expect(idsOf(await store.peek({ state: 'pending' }, 10))).toEqual(['first', 'second', 'future']);
      expect(idsOf(await store.peek({}, 10))).toEqual(['future', 'second', 'first']);
      await store.markDead('second', 'no');
      await outbox.advance(1_000);
      await store.markDead('first', 'no');
      expect(idsOf(await store.peek({ state: 'dead' }, 10))).toEqual(['first', 'second']);
      await store.enqueue(entries(2));
      await store.markDispatched(['m2']);
      await outbox.advance(1_000);
      await store.markDispatched(['m1']);
      expect(idsOf(await store.peek({ state: 'dispatched' }, 10))).toEqual(['m1', 'm2']);
    },

    'rows of all states are listed by the time they ended or fall due, latest first': async (outbox) => {
      const store = outbox.createStore();
      const nowMs = (await outbox.now()).getTime();
      await store.enqueue([
        ...entries(2),
        entry({ id: 'waits', key: 'k', availableAt: new Date(nowMs - 60_000) }),
        entry({ id: 'future', availableAt: new Date(nowMs + 600_000) }),
      ]);
      await outbox.advance(2_000);
      await store.markDead('m2', 'no');
      await outbox.advance(2_000);
      await store.markDispatched(['m1']);
      const all = ['future', 'm1', 'm2', 'waits'];
      expect(idsOf(await store.peek({}, 10))).toEqual(all);
      expect(idsOf(await store.peek({ topic: 'order.paid' }, 3))).toEqual(all.slice(0, 3));
      expect(idsOf(await store.peek({}, 10, { order: 'oldest' }))).toEqual([...all].reverse());
      expect(idsOf(await store.peek({}, 1, { order: 'oldest' }))).toEqual(['waits']);
    },

    'rows of a state can be listed oldest first or latest first': async (outbox) => {
      const store = outbox.createStore();
      await store.enqueue(entries(3));
      for (const id of ['m2', 'm3', 'm1']) {
        await store.markDead(id, 'no');
        await outbox.advance(1_000);
      }
      expect(idsOf(await store.peek({ state: 'dead' }, 2))).toEqual(['m1', 'm3']);
      expect(idsOf(await store.peek({ state: 'dead' }, 2, { order: 'oldest' }))).toEqual(['m2', 'm3']);
      const nowMs = (await outbox.now()).getTime();
      await store.enqueue([
        entry({ id: 'later', availableAt: new Date(nowMs + 2_000) }),
        entry({ id: 'sooner', key: 'k', availableAt: new Date(nowMs + 1_000) }),
      ]);
      const pending = { state: 'pending' } as const;
      expect(idsOf(await store.peek(pending, 1, { order: 'latest' }))).toEqual(['later']);
      expect(idsOf(await store.peek(pending, 1, { order: 'oldest' }))).toEqual(['sooner']);
    },

    'rows can be filtered by topic, key, error text and reason, alone or combined': async (outbox) => {
      const store = outbox.createStore();
      await store.enqueue([
        entry({ id: 'a', topic: 'order.paid', key: 'k1' }),
        entry({ id: 'b', topic: 'order.paid', key: 'k2' }),
        entry({ id: 'c', topic: 'Order.paid' }),
      ]);
      await store.markDead('a', 'Stripe said 100%_no', { reason: 'permanent' });
      await store.markDead('b', 'rate limited', { reason: 'exhausted' });
      const peek = async (filter: Parameters<typeof store.peek>[0]) =>
        idsOf(await store.peek(filter, 10)).sort();
      expect(await peek({ id: 'b' })).toEqual(['b']);
      expect(await peek({ id: 'B' })).toEqual([]);
      expect(await peek({ id: 'b', key: 'k1' })).toEqual([]);
      expect(await peek({ topic: 'order.paid' })).toEqual(['a', 'b']);
      expect(await peek({ topic: 'Order.paid' })).toEqual(['c']);
      expect(await peek({ key: 'k2' })).toEqual(['b']);
      expect(await peek({ error: 'limited' })).toEqual(['b']);
      expect(await peek({ error: '100%_no' })).toEqual(['a']);
      expect(await peek({ error: '%' }), 'a wildcard of SQL is an ordinary character').toEqual(['a']);
      expect(await peek({ error: 'stripe' }), 'compared exactly').toEqual([]);
      expect(await peek({ reason: 'permanent' })).toEqual(['a']);
      expect(
        await peek({ state: 'dead', topic: 'order.paid', key: 'k1', error: 'Stripe', reason: 'permanent' }),
      ).toEqual(['a']);
      expect(await peek({ key: 'k1', reason: 'exhausted' })).toEqual([]);
      expect(await peek({ state: 'pending', reason: 'permanent' })).toEqual([]);
    },

    'rows can be filtered by time, from the first time up to but excluding the second': async (outbox) => {
      const store = outbox.createStore();
      await store.enqueue(entry({ id: 'old' }));
      await store.markDead('old', 'no');
      await outbox.advance(60_000);
      await store.enqueue(entry({ id: 'new' }));
      await store.markDead('new', 'no');
      const rows = await store.peek({ state: 'dead' }, 10);
      const [newest] = rows;
      if (!newest?.deadAt) throw new Error('no dead row');
      const { createdAt, deadAt } = newest;
      const justAfterDeath = new Date(deadAt.getTime() + 1);
      expect(idsOf(await store.peek({ createdAfter: createdAt }, 10))).toEqual(['new']);
      expect(idsOf(await store.peek({ createdBefore: createdAt }, 10))).toEqual(['old']);
      expect(idsOf(await store.peek({ deadAfter: deadAt }, 10))).toEqual(['new']);
      expect(idsOf(await store.peek({ deadBefore: deadAt }, 10))).toEqual(['old']);
      expect(await store.peek({ deadAfter: justAfterDeath }, 10)).toEqual([]);
    },
  },
};
