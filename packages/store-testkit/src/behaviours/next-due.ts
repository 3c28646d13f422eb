import type { OutboxStore } from '@postcommit/core';
import { expect } from 'vitest';
import { type BehaviourGroup, claim, entry } from '../behaviour.js';

const LATER_MS = 600_000;
/** A test on a slow machine may need this long between two steps. */
const SLACK_MS = 60_000;

async function nextDueInMs(store: OutboxStore): Promise<number | undefined> {
  return (await store.lookAhead()).nextDueInMs;
}

function expectAbout(inMs: number | undefined, expectedMs: number): void {
  expect(inMs).toBeLessThanOrEqual(expectedMs);
  expect(inMs).toBeGreaterThan(expectedMs - SLACK_MS);
  expect(Number.isInteger(inMs), 'whole milliseconds').toBe(true);
}

export const nextDue: BehaviourGroup = {
  name: 'when the next row falls due',
  behaviours: {
    'without a row, none falls due': async (outbox) => {
      expect(await nextDueInMs(outbox.createStore())).toBeUndefined();
    },

    'a row for later falls due in the time that is left by the clock of the store': async (outbox) => {
      const store = outbox.createStore();
      const nowMs = (await outbox.now()).getTime();
      await store.enqueue(entry({ availableAt: new Date(nowMs + LATER_MS) }));
      expectAbout(await nextDueInMs(store), LATER_MS);
      await outbox.advance(LATER_MS / 2);
      expectAbout(await nextDueInMs(store), LATER_MS / 2);
      await outbox.advance(LATER_MS / 2);
      expect(await nextDueInMs(store)).toBeUndefined();
    },

    'the time that comes with the answer is the clock of the store': async (outbox) => {
      const store = outbox.createStore();
      const earliest = (await outbox.now()).getTime();
      const { nowMs } = await store.lookAhead();
      expect(nowMs).toBeGreaterThanOrEqual(earliest);
      // A `Date` has no fractions of a millisecond.
      expect(nowMs).toBeLessThan((await outbox.now()).getTime() + 1);
    },

    'a failed row falls due after its delay': async (outbox) => {
      const store = outbox.createStore();
      await store.enqueue(entry({ id: 'm1' }));
      const { token } = await claim(store);
      await store.markFailed('m1', 'no', { claimToken: token, delayMs: LATER_MS });
      expectAbout(await nextDueInMs(store), LATER_MS);
    },

    'the first row counts, with or without a key': async (outbox) => {
      const store = outbox.createStore();
      const nowMs = (await outbox.now()).getTime();
      const later = (factor: number): Date => new Date(nowMs + factor * LATER_MS);
      await store.enqueue([
        entry({ availableAt: later(4) }),
        entry({ id: 'unkeyed', availableAt: later(3) }),
        entry({ availableAt: later(4), key: 'k' }),
      ]);
      expectAbout(await nextDueInMs(store), 3 * LATER_MS);
      await store.enqueue(entry({ id: 'keyed', key: 'l', availableAt: later(2) }));
      expectAbout(await nextDueInMs(store), 2 * LATER_MS);
      await store.cancel('keyed');
      await store.markDispatched(['unkeyed']);
      expectAbout(await nextDueInMs(store), 4 * LATER_MS);
    },

    'rows that are due do not count, even if they wait behind their key': async (outbox) => {
      const store = outbox.createStore();
      const nowMs = (await outbox.now()).getTime();
      const later = { availableAt: new Date(nowMs + LATER_MS) };
      await store.enqueue([entry(), entry({ key: 'k' }), entry({ key: 'l', ...later }), entry({ key: 'l' })]);
      expectAbout(await nextDueInMs(store), LATER_MS);
    },

    'claimed rows do not count: a claim that may expire is left to the polls': async (outbox) => {
      const store = outbox.createStore();
      await store.enqueue([entry(), entry({ key: 'k' })]);
      expect((await claim(store)).ids).toHaveLength(2);
      expect(await nextDueInMs(store)).toBeUndefined();
    },
  },
};
