import type { OutboxStore } from '@postcommit/core';
import { expect } from 'vitest';
import { type BehaviourGroup, claim, entries, entry, idsOf } from '../behaviour.js';

/** More than a search should read again at every claim. */
const WAITING = 4_500;
const HOUR_MS = 3_600_000;

/** Enqueues many rows of one key and claims the first, `m1`: all others wait for it. Returns the claim's token. */
async function blockKey(store: OutboxStore): Promise<string> {
  await store.enqueue(entries(WAITING, { key: 'hot' }));
  const { ids, token } = await claim(store, 1);
  expect(ids).toEqual(['m1']);
  return token;
}

async function expectOtherKeysFound(store: OutboxStore): Promise<void> {
  for (const round of [1, 2]) {
    const ids = Array.from({ length: 3 }, (_, place) => `other-${round}-${place}`);
    await store.enqueue(ids.map((id) => entry({ id, key: id })));
    expect(idsOf(await store.fetchPending(10)).sort(), 'nothing less than all of them').toEqual(ids);
  }
}

export const blockedKeys: BehaviourGroup = {
  name: 'a key with many rows that wait',
  behaviours: {
    'rows that wait for a claimed one do not hide those of other keys': async (outbox) => {
      const store = outbox.createStore();
      await blockKey(store);
      await expectOtherKeysFound(store);
    },

    'rows that wait for one that backs off do not hide those of other keys': async (outbox) => {
      const store = outbox.createStore();
      const claimToken = await blockKey(store);
      await store.markFailed('m1', 'x', { claimToken, delayMs: HOUR_MS });
      await expectOtherKeysFound(store);
    },

    'a row of another key in the midst of them is found however late it commits': async (outbox) => {
      const store = outbox.createStore();
      await blockKey(store);
      const late = await outbox.begin();
      await store.enqueueWith(late.handle, entry({ id: 'late', key: 'other' }));
      await store.enqueue(Array.from({ length: 600 }, () => entry({ key: 'hot' })));
      expect(await store.fetchPending(10)).toEqual([]);
      await late.commit();
      expect(idsOf(await store.fetchPending(10))).toEqual(['late']);
    },

    'a row of another key that is released before them is found': async (outbox) => {
      const [one, two] = [outbox.createStore(), outbox.createStore()];
      await two.enqueue(entry({ id: 'first', key: 'other' }));
      const { token } = await claim(two);
      await blockKey(one);
      expect(await one.fetchPending(10)).toEqual([]);
      await two.release(['first'], token);
      expect(idsOf(await one.fetchPending(10))).toEqual(['first']);
    },

    'once the first is dispatched, the others are claimed without delay, in order': async (outbox) => {
      const store = outbox.createStore();
      const token = await blockKey(store);
      expect(await store.fetchPending(10)).toEqual([]);
      await store.markDispatched(['m1'], token);
      expect((await claim(store, 3)).ids).toEqual(['m2', 'm3', 'm4']);
      expect(await store.fetchPending(10)).toEqual([]);
    },
  },
};
