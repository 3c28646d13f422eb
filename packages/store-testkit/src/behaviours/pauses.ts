import type { OutboxPauses } from '@postcommit/core';
import { expect } from 'vitest';
import { type BehaviourGroup, entry } from '../behaviour.js';
import { capability, type OutboxFixture } from '../store-harness.js';

const LATER_MS = 600_000;
/** A test on a slow machine may need this long between two steps. */
const SLACK_MS = 15_000;

function pausesOf(outbox: OutboxFixture): OutboxPauses {
  return capability(outbox, 'pauses');
}

async function pausedTopics(outbox: OutboxFixture): Promise<readonly string[]> {
  return (await outbox.createStore().lookAhead()).pausedTopics;
}

export const pauses: BehaviourGroup = {
  name: 'pauses',
  behaviours: {
    'no topic is paused at first': async (outbox) => {
      expect(await pausesOf(outbox).list()).toEqual([]);
      expect(await pausedTopics(outbox)).toEqual([]);
    },

    'a paused topic is known to every store until it is resumed': async (outbox) => {
      const pauses = pausesOf(outbox);
      expect(await pauses.pause('order.paid')).toBe(true);
      expect(await pausedTopics(outbox)).toEqual(['order.paid']);
      expect(await pauses.resume('order.paid')).toBe(true);
      expect(await pausedTopics(outbox)).toEqual([]);
      expect(await pauses.list()).toEqual([]);
    },

    'pausing and resuming return whether they changed something': async (outbox) => {
      const pauses = pausesOf(outbox);
      expect(await pauses.resume('order.paid')).toBe(false);
      expect(await pauses.pause('order.paid')).toBe(true);
      expect(await pauses.pause('order.paid')).toBe(false);
      expect(await pauses.resume('order.paid')).toBe(true);
      expect(await pauses.resume('order.paid')).toBe(false);
    },

    'of several that pause a topic, one does it': async (outbox) => {
      const pauses = pausesOf(outbox);
      const paused = await Promise.all([1, 2, 3, 4].map(() => pauses.pause('order.paid')));
      expect(paused.filter((did) => did)).toEqual([true]);
      const resumed = await Promise.all([1, 2, 3, 4].map(() => pauses.resume('order.paid')));
      expect(resumed.filter((did) => did)).toEqual([true]);
    },

    'paused topics are listed in alphabetical order': async (outbox) => {
      const pauses = pausesOf(outbox);
      const topics = ['b', 'a', 'c.b', 'c', 'é', 'a.b'];
      for (const topic of topics) await pauses.pause(topic);
      const sorted = ['a', 'a.b', 'b', 'c', 'c.b', 'é'];
      expect(await pausedTopics(outbox)).toEqual(sorted);
      expect((await pauses.list()).map(({ topic }) => topic)).toEqual(sorted);
    },

    'topics that differ only in case or in a space are different topics': async (outbox) => {
      const pauses = pausesOf(outbox);
      await pauses.pause('order.paid');
      expect(await pauses.pause('Order.paid')).toBe(true);
      expect(await pauses.pause('order.paid ')).toBe(true);
      expect(await pauses.resume('ORDER.PAID')).toBe(false);
      await pauses.resume('order.paid');
      expect(await pausedTopics(outbox)).toEqual(['Order.paid', 'order.paid ']);
    },

    'the time of a pause is that of the first call': async (outbox) => {
      const pauses = pausesOf(outbox);
      await pauses.pause('order.paid');
      await outbox.advance(60_000);
      await pauses.pause('order.paid');
      const [paused] = await pauses.list();
      expect(paused?.topic).toBe('order.paid');
      expect(paused?.sinceMs).toBeGreaterThanOrEqual(60_000);
      expect(paused?.sinceMs).toBeLessThan(60_000 + SLACK_MS);
    },

    'paused topics and the next due time are answered together': async (outbox) => {
      const store = outbox.createStore();
      const nowMs = (await outbox.now()).getTime();
      await store.enqueue(entry({ availableAt: new Date(nowMs + LATER_MS) }));
      for (const topic of ['b', 'a']) await pausesOf(outbox).pause(topic);
      const { nextDueInMs, pausedTopics } = await store.lookAhead();
      expect(pausedTopics).toEqual(['a', 'b']);
      expect(nextDueInMs).toBeLessThanOrEqual(LATER_MS);
      expect(nextDueInMs).toBeGreaterThan(LATER_MS - SLACK_MS);
    },
  },
};
