import { EnqueuePipeline } from '@postcommit/core';
import { expect } from 'vitest';
import { type BehaviourGroup, claim, entries, entry, expectError, idsOf, stored } from '../behaviour.js';

export const requeuing: BehaviourGroup = {
  name: 'requeuing',
  behaviours: {
    'a requeued dead row starts over': async (outbox) => {
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

    'a requeued dispatched row is published again': async (outbox) => {
      const store = outbox.createStore();
      await store.enqueue(entries(1));
      const { token } = await claim(store);
      await store.markDispatched(['m1'], token);
      await store.requeue('m1');
      expect(await store.count()).toMatchObject({ pending: 1, dispatched: 0 });
      expect(await store.markDispatched(['m1'], token), 'the old receipt is void').toEqual([]);
      expect((await claim(store)).ids).toEqual(['m1']);
    },

    'a requeued row that backs off is due at once': async (outbox) => {
      const store = outbox.createStore();
      await store.enqueue(entries(1));
      await store.markFailed('m1', 'x', { delayMs: 3_600_000 });
      await store.requeue('m1');
      expect((await claim(store)).rows[0]).toMatchObject({ id: 'm1', attempts: 0 });
    },

    'requeuing an unknown id is an error': async (outbox) => {
      await expectError(outbox.createStore().requeue('nobody'), 'ROW_NOT_FOUND', /nobody/);
    },

    'a filter requeues the dead rows that match, and returns how many': async (outbox) => {
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

    'a filter requeues the rows that died first, up to the limit': async (outbox) => {
      const store = outbox.createStore();
      await store.enqueue(entries(5));
      for (const id of ['m5', 'm3', 'm1', 'm2', 'm4']) {
        await store.markDead(id, 'x');
        await outbox.advance(1_000);
      }
      expect(await store.requeueWhere({}, 3)).toBe(3);
      expect(idsOf(await store.peek({ state: 'dead' }, 10))).toEqual(['m4', 'm2']);
    },

    'rows requeued by a filter keep the order of their key': async (outbox) => {
      const store = outbox.createStore();
      await store.enqueue(entries(5, { key: 'k' }));
      for (const id of ['m5', 'm3', 'm1', 'm2', 'm4']) {
        await store.markDead(id, 'x');
        await outbox.advance(1_000);
      }
      expect(await store.requeueWhere({}, 3)).toBe(3);
      expect((await claim(store)).ids).toEqual(['m1', 'm3', 'm5']);
    },

    'a row can be requeued with another policy, and keeps what the new one leaves out': async (outbox) => {
      const store = outbox.createStore();
      const backoff = { type: 'fixed', delayMs: 5_000 } as const;
      await store.enqueue([...entries(2, { retry: { maxAttempts: 2, backoff } }), entry({ id: 'plain' })]);
      await store.markDead('m1', 'no');
      await store.requeue('m1', { retry: { maxAttempts: 7 } });
      expect((await stored(store, 'm1')).retry).toEqual({ maxAttempts: 7, backoff });
      await store.requeue('m2', {
        retry: { backoff: { type: 'exponential', delayMs: 10, maxDelayMs: 1_000, jitter: 'full' } },
      });
      expect((await stored(store, 'm2')).retry, 'a pending row too').toEqual({
        maxAttempts: 2,
        backoff: { type: 'exponential', delayMs: 10, maxDelayMs: 1_000, jitter: 'full' },
      });
      await store.requeue('m2', {});
      expect((await stored(store, 'm2')).retry.maxAttempts).toBe(2);
      await store.markDispatched(['plain']);
      await store.requeue('plain', { retry: { maxAttempts: 3, backoff } });
      expect((await stored(store, 'plain')).retry).toEqual({ maxAttempts: 3, backoff });
      expect((await claim(store)).rows.find(({ id }) => id === 'm1')?.retry).toMatchObject({
        maxAttempts: 7,
      });
    },

    'a filter can requeue with another policy': async (outbox) => {
      const store = outbox.createStore();
      await store.enqueue([...entries(2), entry({ id: 'other', retry: { maxAttempts: 9 } })]);
      for (const id of ['m1', 'm2', 'other']) await store.markDead(id, id === 'other' ? 'gone' : '502');
      const backoff = { type: 'fixed', delayMs: 1_000 } as const;
      expect(await store.requeueWhere({ error: '502' }, 10, { retry: { maxAttempts: 4, backoff } })).toBe(2);
      for (const id of ['m1', 'm2'])
        expect((await stored(store, id)).retry).toEqual({ maxAttempts: 4, backoff });
      expect((await stored(store, 'other')).retry).toEqual({ maxAttempts: 9 });
      const pending = { state: 'pending' } as const;
      expect(await store.requeueWhere(pending, 10, { retry: { maxAttempts: 5 } })).toBe(2);
      expect((await stored(store, 'm1')).retry).toEqual({ maxAttempts: 5, backoff });
    },

    'a backoff strategy that is not configured is rejected, and nothing is requeued': async (outbox) => {
      const pipeline = new EnqueuePipeline({ backoffStrategies: { linear: () => 1 } });
      const store = outbox.createStore({ pipeline });
      await store.enqueue(entries(1));
      await store.markDead('m1', 'no');
      const retry = { backoff: { type: 'linaer' } };
      await expectError(store.requeue('m1', { retry }), 'INVALID_RETRY_POLICY', /'linaer' is not configured/);
      await expectError(store.requeueWhere({}, 10, { retry }), 'INVALID_RETRY_POLICY', /'linaer' is not/);
      expect((await store.count()).dead).toBe(1);
      await store.requeue('m1', { retry: { backoff: { type: 'linear' } } });
      expect((await stored(store, 'm1')).retry).toEqual({ backoff: { type: 'linear' } });
    },

    'an invalid policy is rejected, and nothing is requeued': async (outbox) => {
      const store = outbox.createStore();
      await store.enqueue(entries(1));
      await store.markDead('m1', 'no');
      const retry = { maxAttempts: 0 };
      await expectError(store.requeue('m1', { retry }), 'INVALID_RETRY_POLICY', /maxAttempts/);
      await expectError(store.requeueWhere({}, 10, { retry }), 'INVALID_RETRY_POLICY', /maxAttempts/);
      expect(await store.count()).toMatchObject({ pending: 0, dead: 1 });
    },

    'a filter skips cancelled rows unless it names them': async (outbox) => {
      const store = outbox.createStore();
      await store.enqueue(entries(2));
      await store.cancel('m1');
      await store.markDead('m2', 'no');
      expect(await store.requeueWhere({}, 10)).toBe(1);
      expect(idsOf(await store.peek({ state: 'dead' }, 10))).toEqual(['m1']);
      expect(await store.requeueWhere({ reason: 'cancelled' }, 10)).toBe(1);
    },

    'a filter that names the state requeues dispatched rows': async (outbox) => {
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
