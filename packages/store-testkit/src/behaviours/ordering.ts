import { expect } from 'vitest';
import { type BehaviourGroup, CLAIM_TIMEOUT_MS, claim, entries, entry, idsOf } from '../behaviour.js';

const HOUR_MS = 3_600_000;

export const ordering: BehaviourGroup = {
  name: 'key order',
  behaviours: {
    'due rows of a key are claimed together, in the order they were enqueued': async (outbox) => {
      const store = outbox.createStore();
      await store.enqueue(entries(3, { key: 'k' }));
      expect((await claim(store)).ids).toEqual(['m1', 'm2', 'm3']);
    },

    'while rows of a key are claimed, no other claim takes a row of that key': async (outbox) => {
      const store = outbox.createStore();
      await store.enqueue([...entries(3, { key: 'k' }), entry({ id: 'other', key: 'l' })]);
      const { ids, token } = await claim(store, 1);
      expect(ids).toEqual(['m1']);
      await store.enqueue(entry({ id: 'free' }));
      expect(new Set((await claim(store)).ids)).toEqual(new Set(['other', 'free']));
      await store.markDispatched(ids, token);
      expect((await claim(store)).ids).toEqual(['m2', 'm3']);
    },

    'a row enqueued while its key is claimed waits': async (outbox) => {
      const store = outbox.createStore();
      await store.enqueue(entry({ id: 'head', key: 'k' }));
      const { token } = await claim(store);
      await store.enqueue(entry({ id: 'follower', key: 'k' }));
      expect(await store.fetchPending(10)).toEqual([]);
      await store.markDispatched(['head'], token);
      expect((await claim(store)).ids).toEqual(['follower']);
    },

    'a row that backs off holds back the later rows of its key, and of no other': async (outbox) => {
      const store = outbox.createStore();
      await store.enqueue([...entries(2, { key: 'k' }), entry({ id: 'other', key: 'l' })]);
      const { token } = await claim(store);
      await store.settle(token, [
        { id: 'm1', kind: 'failed', error: 'x', delayMs: 30_000 },
        { id: 'm2', kind: 'released' },
        { id: 'other', kind: 'released' },
      ]);
      expect((await claim(store)).ids).toEqual(['other']);
      // The first row is now due later than the second, and is still claimed first.
      await outbox.advance(31_000);
      expect((await claim(store)).ids).toEqual(['m1', 'm2']);
    },

    'a released row is claimed again before the later rows of its key': async (outbox) => {
      const store = outbox.createStore();
      await store.enqueue(entries(2, { key: 'k' }));
      const { token } = await claim(store);
      await store.release(['m1', 'm2'], token);
      expect((await claim(store, 1)).ids).toEqual(['m1']);
    },

    'a row scheduled for later holds back the later rows of its key': async (outbox) => {
      const store = outbox.createStore();
      const availableAt = new Date((await outbox.now()).getTime() + HOUR_MS);
      await store.enqueue([
        entry({ id: 'head', key: 'k', availableAt }),
        entry({ id: 'follower', key: 'k' }),
      ]);
      expect(await store.fetchPending(10)).toEqual([]);
      await outbox.advance(HOUR_MS + 1_000);
      expect((await claim(store)).ids).toEqual(['head', 'follower']);
    },

    'a row scheduled for later does not hold back the earlier rows of its key': async (outbox) => {
      const store = outbox.createStore();
      const availableAt = new Date((await outbox.now()).getTime() + HOUR_MS);
      await store.enqueue([
        entry({ id: 'head', key: 'k' }),
        entry({ id: 'middle', key: 'k', availableAt }),
        entry({ id: 'last', key: 'k' }),
      ]);
      expect((await claim(store)).ids).toEqual(['head']);
    },

    'a dead row lets its key continue': async (outbox) => {
      const store = outbox.createStore();
      await store.enqueue(entries(2, { key: 'k' }));
      const { token } = await claim(store, 1);
      await store.markDead('m1', 'poison', { claimToken: token });
      expect((await claim(store)).ids).toEqual(['m2']);
    },

    'a cancelled row lets its key continue': async (outbox) => {
      const store = outbox.createStore();
      await store.enqueue(entries(2, { key: 'k' }));
      await store.cancel('m1');
      expect((await claim(store)).ids).toEqual(['m2']);
    },

    'a row whose transaction commits late is not claimed while a later row of its key is in flight': async (
      outbox,
    ) => {
      const store = outbox.createStore();
      const late = await outbox.begin();
      await store.enqueueWith(late.handle, entry({ id: 'older', key: 'k' }));
      await store.enqueue(entry({ id: 'younger', key: 'k' }));
      const inFlight = await claim(store);
      expect(inFlight.ids).toEqual(['younger']);
      await late.commit();
      expect(await store.fetchPending(10), 'two owners of one key').toEqual([]);
      await store.release(['younger'], inFlight.token);
      expect((await claim(store)).ids).toEqual(['older', 'younger']);
    },

    'a requeued row goes to the end of its key': async (outbox) => {
      const store = outbox.createStore();
      await store.enqueue(entries(3, { key: 'k' }));
      await store.markDead('m1', 'poison');
      await store.requeue('m1');
      expect((await claim(store)).ids).toEqual(['m2', 'm3', 'm1']);
    },

    'a dead row requeued while a later row of its key is in flight waits for that row': async (outbox) => {
      const store = outbox.createStore();
      await store.enqueue(entries(2, { key: 'k' }));
      await store.markDead('m1', 'poison');
      const { token } = await claim(store);
      await store.requeue('m1');
      expect(await store.fetchPending(10)).toEqual([]);
      await store.markDispatched(['m2'], token);
      expect((await claim(store)).ids).toEqual(['m1']);
    },

    'a requeued row that was still pending keeps its place in its key': async (outbox) => {
      const store = outbox.createStore();
      await store.enqueue(entries(2, { key: 'k' }));
      await store.markFailed('m1', 'x', { delayMs: HOUR_MS });
      await store.requeue('m1');
      expect((await claim(store)).ids).toEqual(['m1', 'm2']);
    },

    'a key keeps its order across small batches': async (outbox) => {
      const store = outbox.createStore();
      await store.enqueue(entries(12, { key: 'k' }));
      const seen: string[] = [];
      for (let round = 0; round < 5; round++) {
        const rows = await store.fetchPending(5);
        seen.push(...idsOf(rows));
        await store.markDispatched(idsOf(rows), rows[0]?.claimToken);
      }
      expect(seen).toEqual(Array.from({ length: 12 }, (_, index) => `m${index + 1}`));
    },

    'keys that differ only in case are different keys': async (outbox) => {
      const store = outbox.createStore();
      await store.enqueue([entry({ id: 'lower', key: 'k' }), entry({ id: 'upper', key: 'K' })]);
      expect((await claim(store, 1)).ids).toHaveLength(1);
      expect((await claim(store, 1)).ids).toHaveLength(1);
    },

    'many blocked keys do not starve the rows behind them': async (outbox) => {
      const store = outbox.createStore({ claimTimeoutMs: CLAIM_TIMEOUT_MS });
      const keys = Array.from({ length: 900 }, (_, index) => `key-${index}`);
      await store.enqueue(
        keys.flatMap((key) => [entry({ id: `${key}-head`, key }), entry({ id: `${key}-next`, key })]),
      );
      const heads = keys.map(
        (key) => ({ id: `${key}-head`, kind: 'failed', error: 'x', delayMs: HOUR_MS }) as const,
      );
      await store.settle(undefined, heads);
      await store.enqueue([entry({ id: 'behind', key: 'free' }), entry({ id: 'unkeyed' })]);
      const seen = new Set<string>();
      for (let round = 0; round < 5; round++) for (const { id } of await store.fetchPending(10)) seen.add(id);
      expect(seen).toEqual(new Set(['behind', 'unkeyed']));
    },

    'a long key does not keep unkeyed rows waiting': async (outbox) => {
      const store = outbox.createStore();
      await store.enqueue(Array.from({ length: 400 }, () => entry({ key: 'long' })));
      await store.enqueue(entries(5));
      const seen = new Set<string>();
      for (let round = 0; round < 5; round++) for (const { id } of await store.fetchPending(10)) seen.add(id);
      expect([...seen]).toEqual(expect.arrayContaining(['m1', 'm2', 'm3', 'm4', 'm5']));
    },
  },
};
