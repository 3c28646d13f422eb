import { expect } from 'vitest';
import { type BehaviourGroup, CLAIM_TIMEOUT_MS, entries, entry, idsOf } from '../behaviour.js';

const AWAY = { exceptTopics: ['away', 'paused'] };

export const leavingOutTopics: BehaviourGroup = {
  name: 'claims that leave out topics',
  behaviours: {
    'rows of a topic that is left out stay, and the others are claimed': async (outbox) => {
      const store = outbox.createStore();
      await store.enqueue([
        entry({ id: 'a', topic: 'away' }),
        entry({ id: 'b' }),
        entry({ id: 'c', topic: 'paused' }),
        entry({ id: 'd' }),
      ]);
      expect(idsOf(await store.fetchPending(10, AWAY))).toEqual(['b', 'd']);
      expect(await store.fetchPending(10, AWAY)).toEqual([]);
      expect(idsOf(await store.fetchPending(10))).toEqual(['a', 'c']);
    },

    'many rows that are left out do not hide the rows behind them': async (outbox) => {
      const store = outbox.createStore();
      await store.enqueue(entries(3_000, { topic: 'away' }));
      await store.enqueue([entry({ id: 'behind-1' }), entry({ id: 'behind-2', key: 'k' })]);
      const claimed: string[] = [];
      // A search may go on in the next claim, but not forever.
      for (let claims = 0; claims < 20 && claimed.length < 2; claims++)
        claimed.push(...idsOf(await store.fetchPending(2, AWAY)));
      expect(claimed.sort()).toEqual(['behind-1', 'behind-2']);
    },

    'a key waits while the topic of its oldest row is left out': async (outbox) => {
      const store = outbox.createStore();
      await store.enqueue(entry({ id: 'head', key: 'k', topic: 'away' }));
      await store.enqueue(entry({ id: 'next', key: 'k' }));
      await store.enqueue(entry({ id: 'other', key: 'l' }));
      expect(idsOf(await store.fetchPending(10, AWAY))).toEqual(['other']);
      expect(idsOf(await store.fetchPending(10))).toEqual(['head', 'next']);
    },

    'rows of a key are claimed up to the first one that is left out': async (outbox) => {
      const store = outbox.createStore();
      await store.enqueue(entry({ id: 'first', key: 'k' }));
      await store.enqueue(entry({ id: 'second', key: 'k', topic: 'paused' }));
      await store.enqueue(entry({ id: 'third', key: 'k' }));
      expect(idsOf(await store.fetchPending(10, AWAY))).toEqual(['first']);
    },

    'an expired claim on a row that is left out is not taken over': async (outbox) => {
      const [one, two] = [outbox.createStore({ claimTimeoutMs: CLAIM_TIMEOUT_MS }), outbox.createStore()];
      await one.enqueue([entry({ id: 'a', topic: 'away' }), entry({ id: 'b' })]);
      expect(idsOf(await one.fetchPending(1))).toEqual(['a']);
      await outbox.advance(CLAIM_TIMEOUT_MS + 1);
      expect(idsOf(await two.fetchPending(10, AWAY))).toEqual(['b']);
      expect(await two.fetchPending(10)).toMatchObject([{ id: 'a', retakes: 1 }]);
    },

    'an expired claim on a row with a key is not taken over either, and the rows behind it wait': async (
      outbox,
    ) => {
      const [one, two] = [outbox.createStore({ claimTimeoutMs: CLAIM_TIMEOUT_MS }), outbox.createStore()];
      await one.enqueue([entry({ id: 'a', key: 'k', topic: 'away' }), entry({ id: 'b', key: 'k' })]);
      expect(idsOf(await one.fetchPending(1))).toEqual(['a']);
      await outbox.advance(CLAIM_TIMEOUT_MS + 1);
      expect(await two.fetchPending(10, AWAY)).toEqual([]);
      expect(await two.fetchPending(10)).toMatchObject([{ id: 'a', retakes: 1 }]);
    },

    'an expired claim on another row is taken over, alone': async (outbox) => {
      const [one, two] = [outbox.createStore({ claimTimeoutMs: CLAIM_TIMEOUT_MS }), outbox.createStore()];
      await one.enqueue([entry({ id: 'a', topic: 'away' }), entry({ id: 'b' }), entry({ id: 'c' })]);
      expect(idsOf(await one.fetchPending(2))).toEqual(['a', 'b']);
      await outbox.advance(CLAIM_TIMEOUT_MS + 1);
      expect(await two.fetchPending(10, AWAY)).toMatchObject([{ id: 'b', retakes: 1 }]);
      expect(idsOf(await two.fetchPending(10, AWAY))).toEqual(['c']);
    },

    'leaving out no topic is a claim as any other': async (outbox) => {
      const store = outbox.createStore();
      await store.enqueue(entries(2));
      expect(idsOf(await store.fetchPending(10, { exceptTopics: [] }))).toEqual(['m1', 'm2']);
    },
  },
};
