import { expect } from 'vitest';
import { type BehaviourGroup, claim, entries, entry, expectError, idsOf, stored } from '../behaviour.js';

export const requeuing: BehaviourGroup = {
  name: 'requeuing',
  behaviours: {
    'a dead row starts anew': async (outbox) => {
      const store = outbox.createStore();
      await store.enqueue(entries(1, { key: 'k', headers: { a: 'b' }, retry: { maxAttempts: 2 } }));
      await store.markDead('m1', 'no', { reason: 'permanent' });
      await store.requeue('m1');
      const row = await stored(store, 'm1');
      expect(row).toMatchObject({
        attempts: 0,
        retakes: 0,
        key: 'k',
        headers: { a: 'b' },
        retry: { maxAttempts: 2 },
      });
      for (const field of ['deadAt', 'deadReason', 'lastError', 'dispatchedAt', 'claimToken']) {
        expect(row).not.toHaveProperty(field);
      }
      expect((await claim(store)).ids).toEqual(['m1']);
    },

    'a dispatched row is published again': async (outbox) => {
      const store = outbox.createStore();
      await store.enqueue(entries(1));
      const { token } = await claim(store);
      await store.markDispatched(['m1'], token);
      await store.requeue('m1');
      expect(await store.count()).toMatchObject({ pending: 1, dispatched: 0 });
      expect(await store.markDispatched(['m1'], token), 'the old receipt is void').toEqual([]);
      expect((await claim(store)).ids).toEqual(['m1']);
    },

    'a row that backs off is due at once': async (outbox) => {
      const store = outbox.createStore();
      await store.enqueue(entries(1));
      await store.markFailed('m1', 'x', { delayMs: 3_600_000 });
      await store.requeue('m1');
      expect((await claim(store)).rows[0]).toMatchObject({ id: 'm1', attempts: 0 });
    },

    'an unknown id is an error': async (outbox) => {
      await expectError(outbox.createStore().requeue('nobody'), 'ROW_NOT_FOUND', /nobody/);
    },

    'a filter requeues the dead rows that match, and says how many': async (outbox) => {
      const store = outbox.createStore();
      await store.enqueue([
        ...entries(4),
        entry({ id: 'other', topic: 'order.refunded' }),
        entry({ id: 'alive' }),
      ]);
      for (const id of ['m1', 'm2', 'm3']) await store.markDead(id, 'rate limited');
      await store.markDead('m4', 'bad request');
      await store.markDead('other', 'rate limited');
      expect(await store.requeueWhere({ topic: 'order.paid', error: 'limited' }, 100)).toBe(3);
      expect(await store.count()).toMatchObject({ pending: 4, dead: 2 });
      expect(await store.requeueWhere({ topic: 'nothing' }, 100)).toBe(0);
    },

    'a filter requeues the oldest first and no more than the limit': async (outbox) => {
      const store = outbox.createStore();
      await store.enqueue(entries(5, { key: 'k' }));
      for (const id of ['m5', 'm3', 'm1', 'm2', 'm4']) await store.markDead(id, 'x');
      expect(await store.requeueWhere({}, 3)).toBe(3);
      expect(idsOf(await store.peek({ state: 'dead' }, 10)).sort()).toEqual(['m4', 'm5']);
      expect((await claim(store)).ids).toEqual(['m1', 'm2', 'm3']);
    },

    'a filter leaves cancelled rows alone, unless it asks for them': async (outbox) => {
      const store = outbox.createStore();
      await store.enqueue(entries(2));
      await store.cancel('m1');
      await store.markDead('m2', 'no');
      expect(await store.requeueWhere({}, 10)).toBe(1);
      expect(idsOf(await store.peek({ state: 'dead' }, 10))).toEqual(['m1']);
      expect(await store.requeueWhere({ reason: 'cancelled' }, 10)).toBe(1);
    },

    'a filter that names a state reaches dispatched rows': async (outbox) => {
      const store = outbox.createStore();
      await store.enqueue(entries(2));
      await store.markDispatched(['m1', 'm2']);
      expect(await store.requeueWhere({}, 10)).toBe(0);
      expect(await store.requeueWhere({ state: 'dispatched' }, 1)).toBe(1);
      expect(await store.count()).toMatchObject({ pending: 1, dispatched: 1 });
    },

    'only dead rows can be discarded': async (outbox) => {
      const store = outbox.createStore();
      await store.enqueue(entries(3));
      await store.markDispatched(['m1']);
      await store.markDead('m2', 'no');
      expect(await store.discard(['m1', 'm2', 'm3', 'unknown'])).toBe(1);
      expect(await store.discard([])).toBe(0);
      expect(await store.count()).toEqual({ pending: 1, dispatched: 1, dead: 0, total: 2 });
    },
  },
};
