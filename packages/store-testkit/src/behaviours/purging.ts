import { expect } from 'vitest';
import { type BehaviourGroup, claim, entries, entry, idsOf } from '../behaviour.js';

const DAY_MS = 86_400_000;

export const purging: BehaviourGroup = {
  name: 'purging',
  behaviours: {
    'purging deletes dispatched rows older than the window and keeps younger ones': async (outbox) => {
      const store = outbox.createStore();
      await store.enqueue(entries(3));
      await store.markDispatched(['m1', 'm2']);
      await outbox.advance(2 * DAY_MS);
      await store.markDispatched(['m3']);
      expect(await store.purgeDispatched({ ageMs: DAY_MS })).toBe(2);
      expect(idsOf(await store.peek({}, 10))).toEqual(['m3']);
      expect(await store.purgeDispatched({ ageMs: DAY_MS })).toBe(0);
    },

    'a date works like an age': async (outbox) => {
      const store = outbox.createStore();
      await store.enqueue(entries(2));
      await store.markDispatched(['m1']);
      await outbox.advance(DAY_MS);
      const cutoff = await outbox.now();
      await outbox.advance(1_000);
      const after = new Date((await outbox.now()).getTime() - DAY_MS / 2);
      await store.markDispatched(['m2']);
      expect(cutoff.getTime()).toBeGreaterThan(after.getTime());
      expect(await store.purgeDispatched(after)).toBe(1);
      expect(idsOf(await store.peek({}, 10))).toEqual(['m2']);
    },

    'purging dispatched rows never deletes pending or dead rows, however old': async (outbox) => {
      const store = outbox.createStore();
      await store.enqueue(entries(4));
      await store.markDead('m1', 'no');
      await store.markFailed('m2', 'no');
      await claim(store, 1);
      await outbox.advance(1_000 * DAY_MS);
      expect(await store.purgeDispatched({ ageMs: 0 })).toBe(0);
      expect(await store.count()).toMatchObject({ pending: 3, dead: 1 });
    },

    'purging dead rows deletes only dead rows, and only those past their age': async (outbox) => {
      const store = outbox.createStore();
      await store.enqueue(entries(4));
      await store.markDead('m1', 'no');
      await store.markDispatched(['m2']);
      await outbox.advance(2 * DAY_MS);
      await store.markDead('m3', 'no');
      expect(await store.purgeDead({ ageMs: DAY_MS })).toBe(1);
      expect(idsOf(await store.peek({}, 10)).sort()).toEqual(['m2', 'm3', 'm4']);
      expect(await store.purgeDead(new Date((await outbox.now()).getTime() + DAY_MS))).toBe(1);
      expect(await store.count()).toMatchObject({ pending: 1, dispatched: 1, dead: 0 });
    },

    'purging can be limited to one topic': async (outbox) => {
      const store = outbox.createStore();
      await store.enqueue([
        entry({ id: 'a1', topic: 'a' }),
        entry({ id: 'b1', topic: 'b' }),
        entry({ id: 'a2', topic: 'a' }),
        entry({ id: 'b2', topic: 'b' }),
      ]);
      await store.markDispatched(['a1', 'b1']);
      await store.markDead('a2', 'no');
      await store.markDead('b2', 'no');
      await outbox.advance(DAY_MS);
      expect(await store.purgeDispatched({ ageMs: 1_000 }, { topic: 'a' })).toBe(1);
      expect(await store.purgeDead({ ageMs: 1_000 }, { topic: 'b' })).toBe(1);
      expect(idsOf(await store.peek({}, 10)).sort()).toEqual(['a2', 'b1']);
    },

    'keepLatest keeps exactly n rows, even if many ended at the same time': async (outbox) => {
      const store = outbox.createStore();
      await store.enqueue([...entries(6), entry({ id: 'other', topic: 'other' })]);
      await store.markDispatched(['m1']);
      await outbox.advance(1_000);
      await store.markDispatched(['m2', 'm3', 'm4', 'm5', 'other']);
      await outbox.advance(1_000);
      const { topic } = entry();
      const dispatched = async (): Promise<string[]> =>
        idsOf(await store.peek({ state: 'dispatched', topic }, 10));
      const latest = (await dispatched()).slice(0, 3);
      expect(await store.purgeDispatched({ keepLatest: 5 }, { topic })).toBe(0);
      expect(await store.purgeDispatched({ keepLatest: 3 }, { topic })).toBe(2);
      expect(await dispatched()).toEqual(latest);
      expect(await store.purgeDispatched({ keepLatest: 3 }, { topic })).toBe(0);
      expect(await store.count()).toMatchObject({ pending: 1, dispatched: 4 });
      expect(await store.purgeDispatched({ keepLatest: 0 })).toBe(4);
    },

    'keepLatest works for dead rows too': async (outbox) => {
      const store = outbox.createStore();
      await store.enqueue(entries(4));
      await store.markDispatched(['m1']);
      for (const id of ['m2', 'm3', 'm4']) {
        await store.markDead(id, 'no');
        await outbox.advance(1_000);
      }
      expect(await store.purgeDead({ keepLatest: 1 })).toBe(2);
      expect(idsOf(await store.peek({}, 10)).sort()).toEqual(['m1', 'm4']);
    },

    'purging is not limited to one page': async (outbox) => {
      const store = outbox.createStore();
      await store.enqueue(Array.from({ length: 2_500 }, () => ({ topic: 'order.paid', payload: 1 })));
      await store.markDispatched(idsOf(await store.peek({}, 2_500)));
      await outbox.advance(DAY_MS);
      expect(await store.purgeDispatched({ ageMs: 1_000 })).toBe(2_500);
      expect((await store.count()).total).toBe(0);
    },
  },
};
