import type { BackoffOptions } from '@postcommit/core';
import { OutboxDispatcher } from '@postcommit/core';
import { expect } from 'vitest';
import { type BehaviourGroup, entries, entry, stored } from '../behaviour.js';

const BACKOFF: BackoffOptions = { type: 'exponential', delayMs: 30_000, maxDelayMs: 240_000, jitter: 'none' };

async function failAlways(): Promise<void> {
  throw new Error('broker down');
}

export const retries: BehaviourGroup = {
  name: 'retries',
  behaviours: {
    'the retry policy of an entry is stored with its row': async (outbox) => {
      const store = outbox.createStore();
      await store.enqueue([
        entry({ id: 'both', retry: { maxAttempts: 3, backoff: BACKOFF } }),
        entry({ id: 'attempts', retry: { maxAttempts: 20 } }),
        entry({ id: 'backoff', retry: { backoff: { type: 'fixed', delayMs: 1.5 } } }),
        entry({ id: 'named', retry: { backoff: { type: 'respect-retry-after' } } }),
        entry({ id: 'none' }),
      ]);
      expect((await stored(store, 'both')).retry).toEqual({ maxAttempts: 3, backoff: BACKOFF });
      expect((await stored(store, 'attempts')).retry).toEqual({ maxAttempts: 20 });
      expect((await stored(store, 'backoff')).retry).toEqual({ backoff: { type: 'fixed', delayMs: 1.5 } });
      expect((await stored(store, 'named')).retry).toEqual({ backoff: { type: 'respect-retry-after' } });
      expect((await stored(store, 'none')).retry).toEqual({});
    },

    'a named backoff strategy is resolved by the dispatcher': async (outbox) => {
      const store = outbox.createStore();
      const backoffStrategies = { slow: (attempts: number) => attempts * 30_000 };
      await store.enqueue([
        entry({ id: 'known', retry: { backoff: { type: 'slow' } } }),
        entry({ id: 'unknown', retry: { backoff: { type: 'quick' } } }),
      ]);
      const dispatcher = new OutboxDispatcher(store, failAlways, { backoffStrategies });
      expect(await dispatcher.dispatchPending()).toMatchObject({ fetched: 2, failed: 1, dead: 1 });
      expect(await stored(store, 'unknown')).toMatchObject({
        attempts: 0,
        deadReason: 'undecodable',
        lastError: expect.stringContaining("backoff strategy 'quick' is not configured"),
      });
      await outbox.advance(25_000);
      expect(await dispatcher.dispatchPending()).toMatchObject({ fetched: 0 });
      await outbox.advance(5_500);
      expect(await dispatcher.dispatchPending()).toMatchObject({ fetched: 1, failed: 1 });
    },

    'a row is retried after each delay of its policy, and dies at its limit': async (outbox) => {
      const store = outbox.createStore();
      const dispatcher = new OutboxDispatcher(store, failAlways);
      await store.enqueue(entry({ id: 'm1', retry: { maxAttempts: 3, backoff: BACKOFF } }));
      for (const waitMs of [30_000, 60_000]) {
        expect(await dispatcher.dispatchPending()).toMatchObject({ fetched: 1, failed: 1 });
        await outbox.advance(waitMs - 5_000);
        expect(await dispatcher.dispatchPending()).toMatchObject({ fetched: 0 });
        await outbox.advance(5_500);
      }
      expect(await dispatcher.dispatchPending()).toMatchObject({ fetched: 1, failed: 0, dead: 1 });
      expect(await stored(store, 'm1')).toMatchObject({
        attempts: 3,
        deadReason: 'exhausted',
        lastError: 'broker down',
      });
    },

    'a row without a policy follows the current configuration of the dispatcher': async (outbox) => {
      const store = outbox.createStore();
      await store.enqueue(entries(1));
      await new OutboxDispatcher(store, failAlways).dispatchPending();
      expect(
        await new OutboxDispatcher(store, failAlways, { maxAttempts: 2 }).dispatchPending(),
      ).toMatchObject({ dead: 1 });
      expect(await stored(store, 'm1')).toMatchObject({ attempts: 2, deadReason: 'exhausted' });
    },
  },
};
