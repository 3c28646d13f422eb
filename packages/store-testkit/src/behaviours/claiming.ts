import { expect } from 'vitest';
import { type BehaviourGroup, CLAIM_TIMEOUT_MS, claim, entries, entry, idsOf, stored } from '../behaviour.js';

const HOUR_MS = 3_600_000;

export const claiming: BehaviourGroup = {
  name: 'claiming',
  behaviours: {
    'an empty outbox has nothing to claim': async (outbox) => {
      expect(await outbox.createStore().fetchPending(10)).toEqual([]);
    },

    'all rows of a claim carry the same token, and the next claim has a different one': async (outbox) => {
      const store = outbox.createStore();
      await store.enqueue(entries(3));
      const first = await claim(store, 2);
      const second = await claim(store, 2);
      expect(new Set(first.rows.map(({ claimToken }) => claimToken)).size).toBe(1);
      expect(second.token).not.toBe(first.token);
    },

    'two dispatchers never receive the same row': async (outbox) => {
      const [one, two] = [outbox.createStore(), outbox.createStore()];
      await one.enqueue(entries(5));
      expect((await claim(one, 3)).ids).toEqual(['m1', 'm2', 'm3']);
      expect((await claim(two, 3)).ids).toEqual(['m4', 'm5']);
      expect(await one.fetchPending(3)).toEqual([]);
    },

    'a claim never exceeds its limit': async (outbox) => {
      const store = outbox.createStore();
      await store.enqueue(entries(5));
      expect((await claim(store, 1)).ids).toHaveLength(1);
      expect((await claim(store, 3)).ids).toHaveLength(3);
      expect((await claim(store, 3)).ids).toHaveLength(1);
    },

    'a claim below its limit leaves no due unkeyed row behind': async (outbox) => {
      const [one, two] = [outbox.createStore(), outbox.createStore()];
      // The key is claimed, so its next row is due but can't be claimed.
      await one.enqueue(entry({ id: 'head', key: 'k' }));
      expect((await claim(two)).ids).toEqual(['head']);
      const unkeyed = entries(150);
      await one.enqueue([entry({ id: 'next', key: 'k' }), ...unkeyed]);
      expect((await claim(one, 200)).ids.sort()).toEqual(unkeyed.map(({ id }) => id).sort());
    },

    'the row that fell due first is claimed first, whatever its id': async (outbox) => {
      const store = outbox.createStore();
      const nowMs = (await outbox.now()).getTime();
      await store.enqueue([
        entry({ id: 'a-later', availableAt: new Date(nowMs - 1_000) }),
        entry({ id: 'z-sooner', availableAt: new Date(nowMs - 9_000) }),
        entry({ id: 'm-same-as-first', availableAt: new Date(nowMs - 1_000) }),
      ]);
      expect(idsOf(await store.fetchPending(2))).toEqual(['z-sooner', 'a-later']);
    },

    'a row that appears in front of the last claim is in the next claim with room for it': async (outbox) => {
      const store = outbox.createStore();
      await store.enqueue(entries(3));
      expect((await claim(store, 2)).ids).toEqual(['m1', 'm2']);
      // As if a transaction that began long ago had just committed.
      const availableAt = new Date((await outbox.now()).getTime() - HOUR_MS);
      await store.enqueue(entry({ id: 'late', availableAt }));
      expect(idsOf(await store.fetchPending(2))).toEqual(expect.arrayContaining(['late', 'm3']));
    },

    'an expired claim is taken over even though full batches were claimed behind it': async (outbox) => {
      const [crashed, busy] = [1, 2].map(() => outbox.createStore({ claimTimeoutMs: CLAIM_TIMEOUT_MS }));
      if (!crashed || !busy) throw new Error('no stores');
      await crashed.enqueue(entries(4));
      expect((await claim(crashed, 1)).ids).toEqual(['m1']);
      await outbox.advance(CLAIM_TIMEOUT_MS - 10_000);
      for (const id of ['m2', 'm3', 'm4']) expect((await claim(busy, 1)).ids).toEqual([id]);
      await outbox.advance(11_000);
      expect((await claim(busy, 1)).ids).toEqual(['m1']);
    },

    'an expired claim in the middle of full batches is taken over too, alone': async (outbox) => {
      const [crashed, busy] = [1, 2].map(() => outbox.createStore({ claimTimeoutMs: CLAIM_TIMEOUT_MS }));
      if (!crashed || !busy) throw new Error('no stores');
      await crashed.enqueue(entries(5));
      const { token } = await claim(crashed, 3);
      await crashed.release(['m1', 'm2'], token);
      await outbox.advance(CLAIM_TIMEOUT_MS + 1_000);
      const batches = [await claim(busy, 2), await claim(busy, 2), await claim(busy, 2)];
      expect(batches.flatMap(({ ids }) => ids).sort()).toEqual(['m1', 'm2', 'm3', 'm4', 'm5']);
      expect(batches.map(({ ids }) => ids)).toContainEqual(['m3']);
    },

    'a row is claimed when it is due, and not before': async (outbox) => {
      const store = outbox.createStore();
      const availableAt = new Date((await outbox.now()).getTime() + HOUR_MS);
      await store.enqueue([entry({ id: 'later', availableAt }), entry({ id: 'now' })]);
      expect((await claim(store)).ids).toEqual(['now']);
      await outbox.advance(HOUR_MS - 30_000);
      expect(idsOf(await store.fetchPending(10))).not.toContain('later');
      await outbox.advance(31_000);
      await store.markDispatched(['now']);
      expect((await claim(store)).ids).toEqual(['later']);
    },

    'a claimed row is not claimed again while its claim is live': async (outbox) => {
      const store = outbox.createStore({ claimTimeoutMs: CLAIM_TIMEOUT_MS });
      await store.enqueue(entries(1));
      await claim(store);
      await outbox.advance(CLAIM_TIMEOUT_MS - 10_000);
      expect(await store.fetchPending(10)).toEqual([]);
    },

    'an expired claim can be taken over by another dispatcher': async (outbox) => {
      const [crashed, other] = [1, 2].map(() => outbox.createStore({ claimTimeoutMs: CLAIM_TIMEOUT_MS }));
      if (!crashed || !other) throw new Error('no stores');
      await crashed.enqueue(entries(1));
      const before = await claim(crashed);
      await outbox.advance(CLAIM_TIMEOUT_MS + 1_000);
      const after = await claim(other);
      expect(after.ids).toEqual(['m1']);
      expect(after.token).not.toBe(before.token);
    },

    'a claim expires by the timeout of its owner, not of the store that looks': async (outbox) => {
      const patient = outbox.createStore({ claimTimeoutMs: HOUR_MS });
      const hasty = outbox.createStore({ claimTimeoutMs: 1_000 });
      await patient.enqueue(entries(1));
      await claim(patient);
      await outbox.advance(HOUR_MS / 2);
      expect(await hasty.fetchPending(10)).toEqual([]);
    },

    'dispatched and dead rows are never claimed': async (outbox) => {
      const store = outbox.createStore({ claimTimeoutMs: CLAIM_TIMEOUT_MS });
      await store.enqueue(entries(2));
      const { token } = await claim(store);
      await store.settle(token, [
        { id: 'm1', kind: 'dispatched' },
        { id: 'm2', kind: 'dead', error: 'no', reason: 'permanent' },
      ]);
      await outbox.advance(10 * CLAIM_TIMEOUT_MS);
      expect(await store.fetchPending(10)).toEqual([]);
    },

    'a stored row shows its claim': async (outbox) => {
      const store = outbox.createStore();
      await store.enqueue(entries(1));
      const { token } = await claim(store);
      expect((await stored(store, 'm1')).claimToken).toBe(token);
    },

    'an extended claim lasts for another timeout': async (outbox) => {
      const store = outbox.createStore({ claimTimeoutMs: CLAIM_TIMEOUT_MS });
      await store.enqueue(entries(2));
      const { token } = await claim(store);
      await outbox.advance(CLAIM_TIMEOUT_MS - 10_000);
      expect(await store.extendClaim(token, ['m1'])).toEqual(['m1']);
      await outbox.advance(20_000);
      expect((await claim(store)).ids).toEqual(['m2']);
      await outbox.advance(CLAIM_TIMEOUT_MS);
      expect(idsOf(await store.fetchPending(10))).toEqual(['m1']);
    },

    'a lost claim can’t be extended': async (outbox) => {
      const store = outbox.createStore({ claimTimeoutMs: CLAIM_TIMEOUT_MS });
      await store.enqueue(entries(3));
      const { token } = await claim(store);
      await store.markDispatched(['m1'], token);
      await store.requeue('m2');
      expect(await store.extendClaim(token, ['m1', 'm2', 'm3', 'unknown'])).toEqual(['m3']);
    },
  },
};
