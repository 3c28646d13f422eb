import { expect } from 'vitest';
import { type BehaviourGroup, CLAIM_TIMEOUT_MS, claim, entries, entry, stored } from '../behaviour.js';

export const retakenClaims: BehaviourGroup = {
  name: 'retaken claims',
  behaviours: {
    'rows of a crashed batch are retaken one at a time': async (outbox) => {
      const store = outbox.createStore({ claimTimeoutMs: CLAIM_TIMEOUT_MS });
      await store.enqueue(entries(3));
      await claim(store);
      await outbox.advance(CLAIM_TIMEOUT_MS + 1_000);
      expect((await claim(store)).ids).toEqual(['m1']);
      expect((await claim(store)).ids).toEqual(['m2']);
      expect((await claim(store)).ids).toEqual(['m3']);
      expect(await store.fetchPending(10)).toEqual([]);
    },

    'a retaken row is claimed without new rows': async (outbox) => {
      const store = outbox.createStore({ claimTimeoutMs: CLAIM_TIMEOUT_MS });
      await store.enqueue(entry({ id: 'orphan' }));
      await claim(store);
      await outbox.advance(CLAIM_TIMEOUT_MS + 1_000);
      await store.enqueue([entry({ id: 'fresh1' }), entry({ id: 'fresh2' })]);
      expect((await claim(store)).ids).toEqual(['orphan']);
      expect((await claim(store)).ids).toEqual(['fresh1', 'fresh2']);
    },

    'a retaken claim counts as a retake, not as an attempt': async (outbox) => {
      const store = outbox.createStore({ claimTimeoutMs: CLAIM_TIMEOUT_MS });
      await store.enqueue(entries(1));
      expect((await claim(store)).rows[0]).toMatchObject({ attempts: 0, retakes: 0 });
      for (const retakes of [1, 2, 3]) {
        await outbox.advance(CLAIM_TIMEOUT_MS + 1_000);
        expect((await claim(store)).rows[0]).toMatchObject({ attempts: 0, retakes });
      }
      expect(await stored(store, 'm1')).toMatchObject({ attempts: 0, retakes: 3 });
    },

    'a failed publish and a requeue reset the retakes': async (outbox) => {
      const store = outbox.createStore({ claimTimeoutMs: CLAIM_TIMEOUT_MS });
      const endings: Array<(token: string) => Promise<unknown>> = [
        (token) => store.markFailed('m1', 'boom', { claimToken: token }),
        () => store.requeue('m1'),
      ];
      await store.enqueue(entries(1));
      for (const end of endings) {
        await claim(store);
        await outbox.advance(CLAIM_TIMEOUT_MS + 1_000);
        const { rows, token } = await claim(store);
        expect(rows[0]?.retakes).toBe(1);
        await end(token);
        expect((await stored(store, 'm1')).retakes).toBe(0);
      }
    },

    // Otherwise a row that kills its process would be forgiven at each stop, and never found.
    'a release keeps the retakes': async (outbox) => {
      const store = outbox.createStore({ claimTimeoutMs: CLAIM_TIMEOUT_MS });
      const endings: Array<(token: string) => Promise<unknown>> = [
        (token) => store.release(['m1'], token),
        (token) => store.settle(token, [{ id: 'm1', kind: 'released', delayMs: 0 }]),
      ];
      await store.enqueue(entries(1));
      await claim(store);
      await outbox.advance(CLAIM_TIMEOUT_MS + 1_000);
      for (const end of endings) {
        const { rows, token } = await claim(store);
        expect(rows[0]).toMatchObject({ attempts: 0, retakes: 1 });
        await end(token);
        expect((await stored(store, 'm1')).retakes).toBe(1);
      }
      const { token } = await claim(store);
      await store.markDispatched(['m1'], token);
      expect((await stored(store, 'm1')).retakes).toBe(0);
    },

    'a retaken row of a key is claimed alone, before the later rows of the key': async (outbox) => {
      const store = outbox.createStore({ claimTimeoutMs: CLAIM_TIMEOUT_MS });
      await store.enqueue(entries(3, { key: 'k' }));
      expect((await claim(store)).ids).toEqual(['m1', 'm2', 'm3']);
      await outbox.advance(CLAIM_TIMEOUT_MS + 1_000);
      for (const id of ['m1', 'm2', 'm3']) {
        const { ids, token } = await claim(store);
        expect(ids).toEqual([id]);
        expect(await store.fetchPending(10), 'the key is held').toEqual([]);
        await store.markDispatched(ids, token);
      }
    },

    'a retaken row of a key is claimed without rows of other keys': async (outbox) => {
      const store = outbox.createStore({ claimTimeoutMs: CLAIM_TIMEOUT_MS });
      await store.enqueue(entry({ id: 'orphan', key: 'k' }));
      await claim(store);
      await outbox.advance(CLAIM_TIMEOUT_MS + 1_000);
      await store.enqueue([entry({ id: 'fresh1', key: 'l' }), entry({ id: 'fresh2', key: 'm' })]);
      expect((await claim(store)).ids).toEqual(['orphan']);
      expect((await claim(store)).ids).toEqual(['fresh1', 'fresh2']);
    },

    'an expired claim on a keyed row can’t be extended, even if nobody has taken the row': async (outbox) => {
      const slow = outbox.createStore({ claimTimeoutMs: CLAIM_TIMEOUT_MS });
      const other = outbox.createStore({ claimTimeoutMs: CLAIM_TIMEOUT_MS });
      await slow.enqueue(entries(2, { key: 'k' }));
      const { token } = await claim(slow);
      await outbox.advance(CLAIM_TIMEOUT_MS + 1_000);
      expect((await claim(other)).ids).toEqual(['m1']);
      // If m2 could be revived, the key would have two owners: this one, and the one that took m1 over.
      expect(await slow.extendClaim(token, ['m1', 'm2'])).toEqual([]);
    },
  },
};
