import { expect } from 'vitest';
import { type BehaviourGroup, entries, entry, expectError, idsOf } from '../behaviour.js';

export const transactions: BehaviourGroup = {
  name: 'transactions',
  behaviours: {
    'entries enqueued in a transaction become visible when it commits': async (outbox) => {
      const store = outbox.createStore();
      const tx = await outbox.begin();
      expect(await store.enqueueWith(tx.handle, entries(2))).toEqual(['m1', 'm2']);
      expect(await store.fetchPending(10)).toEqual([]);
      expect((await store.count()).total).toBe(0);
      await tx.commit();
      expect(idsOf(await store.fetchPending(10))).toEqual(['m1', 'm2']);
    },

    'entries enqueued in a transaction that rolls back are never stored': async (outbox) => {
      const store = outbox.createStore();
      const tx = await outbox.begin();
      await store.enqueueWith(tx.handle, entries(2));
      await tx.rollback();
      expect(await store.fetchPending(10)).toEqual([]);
      expect((await store.count()).total).toBe(0);
      // The ids can be used again.
      await store.enqueue(entries(2));
    },

    'rolling back to a savepoint undoes only what came after it': async (outbox) => {
      const store = outbox.createStore();
      const tx = await outbox.begin();
      await store.enqueueWith(tx.handle, entry({ id: 'before' }));
      const rollbackToSavepoint = await tx.savepoint();
      await store.enqueueWith(tx.handle, entry({ id: 'inside' }));
      await rollbackToSavepoint();
      await store.enqueueWith(tx.handle, entry({ id: 'after' }));
      await tx.commit();
      expect(idsOf(await store.fetchPending(10))).toEqual(['before', 'after']);
    },

    'two transactions do not see each other’s entries, and end independently': async (outbox) => {
      const store = outbox.createStore();
      const [kept, dropped] = [await outbox.begin(), await outbox.begin()];
      await store.enqueueWith(kept.handle, entry({ id: 'kept' }));
      await store.enqueueWith(dropped.handle, entry({ id: 'dropped' }));
      await dropped.rollback();
      await kept.commit();
      expect(idsOf(await store.fetchPending(10))).toEqual(['kept']);
    },

    'a missing transaction is rejected and stores nothing': async (outbox) => {
      const store = outbox.createStore();
      await expectError(store.enqueueWith(undefined, entry()), 'INVALID_TRANSACTION');
      await expectError(store.enqueueWith(null, entry()), 'INVALID_TRANSACTION');
      expect((await store.count()).total).toBe(0);
    },

    'an ended transaction is rejected and stores nothing': async (outbox) => {
      const store = outbox.createStore();
      const tx = await outbox.begin();
      await tx.commit();
      await expect(store.enqueueWith(tx.handle, entry())).rejects.toThrow();
      expect((await store.count()).total).toBe(0);
    },

    'an id that is already stored is rejected inside a transaction too': async (outbox) => {
      const store = outbox.createStore();
      await store.enqueue(entry({ id: 'taken' }));
      const tx = await outbox.begin();
      await expectError(store.enqueueWith(tx.handle, entry({ id: 'taken' })), 'DUPLICATE_ID', /taken/);
      await tx.rollback();
    },

    'the order of enqueuing holds across several calls in a transaction': async (outbox) => {
      const store = outbox.createStore();
      const tx = await outbox.begin();
      for (const id of ['c', 'a', 'b']) await store.enqueueWith(tx.handle, entry({ id }));
      await tx.commit();
      expect(idsOf(await store.fetchPending(10))).toEqual(['c', 'a', 'b']);
    },
  },
};
