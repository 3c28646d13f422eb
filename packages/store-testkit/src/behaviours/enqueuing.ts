import { expect } from 'vitest';
import { type BehaviourGroup, claim, entries, entry, expectError, idsOf, stored } from '../behaviour.js';

export const enqueuing: BehaviourGroup = {
  name: 'enqueuing',
  behaviours: {
    'a stored row keeps everything its entry had': async (outbox) => {
      const store = outbox.createStore();
      const payload = {
        text: 'zażółć gęślą jaźń 🦆 "quoted" \\ \n',
        nested: [1, -0.5, null, true, { a: [] }],
      };
      await store.enqueue(
        entry({ id: 'full', key: 'order-1', headers: { traceparent: '00-ab', 'x-ü': 'é' }, payload }),
      );
      const row = await stored(store, 'full');
      expect(row).toMatchObject({
        id: 'full',
        topic: 'order.paid',
        key: 'order-1',
        headers: { traceparent: '00-ab', 'x-ü': 'é' },
        attempts: 0,
        retakes: 0,
        retry: {},
      });
      expect(row.payload).toEqual(payload);
    },

    'an entry without options becomes a row without options': async (outbox) => {
      const store = outbox.createStore();
      const [id = ''] = await store.enqueue({ topic: 'order.paid', payload: null });
      const row = await stored(store, id);
      expect(Object.keys(row).sort()).toEqual(
        [
          'attempts',
          'availableAt',
          'createdAt',
          'headers',
          'id',
          'payload',
          'retakes',
          'retry',
          'topic',
        ].sort(),
      );
      expect(row.payload).toBeNull();
    },

    'payloads of every JSON type come back unchanged': async (outbox) => {
      const store = outbox.createStore();
      const payloads: unknown[] = [
        '',
        'text',
        0,
        -1.5,
        1e21,
        true,
        false,
        null,
        [],
        {},
        [[null]],
        { __proto__: null, constructor: 1 },
      ];
      const ids = await store.enqueue(payloads.map((payload) => entry({ payload })));
      const rows = await Promise.all(ids.map((id) => stored(store, id)));
      expect(rows.map(({ payload }) => payload)).toEqual(
        payloads.map((payload) => JSON.parse(JSON.stringify(payload))),
      );
    },

    'ids are returned in the order of the entries': async (outbox) => {
      const store = outbox.createStore();
      const ids = await store.enqueue([entry({ id: 'b' }), entry(), entry({ id: 'a' })]);
      expect(ids).toHaveLength(3);
      expect([ids[0], ids[2]]).toEqual(['b', 'a']);
      expect(ids[1]).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    },

    'rows enqueued in one call are claimed in the order of the entries': async (outbox) => {
      const store = outbox.createStore();
      const ids = await store.enqueue(Array.from({ length: 120 }, () => entry()));
      expect(idsOf(await store.fetchPending(200))).toEqual(ids);
    },

    'an empty list stores nothing': async (outbox) => {
      const store = outbox.createStore();
      expect(await store.enqueue([])).toEqual([]);
      expect(await store.count()).toEqual({ pending: 0, dispatched: 0, dead: 0, total: 0 });
    },

    'an id that is already stored rejects the whole call': async (outbox) => {
      const store = outbox.createStore();
      await store.enqueue(entry({ id: 'taken' }));
      await expectError(
        store.enqueue([entry({ id: 'new' }), entry({ id: 'taken' })]),
        'DUPLICATE_ID',
        /taken/,
      );
      expect((await store.count()).total).toBe(1);
    },

    'ids that differ only in case are different rows': async (outbox) => {
      const store = outbox.createStore();
      await store.enqueue([entry({ id: 'a' }), entry({ id: 'A' })]);
      expect(new Set(idsOf(await store.fetchPending(10)))).toEqual(new Set(['a', 'A']));
    },

    'a row is stamped by the store’s clock': async (outbox) => {
      const store = outbox.createStore();
      const before = await outbox.now();
      await store.enqueue(entries(1));
      const after = await outbox.now();
      const { createdAt, availableAt } = await stored(store, 'm1');
      expect(createdAt.getTime()).toBeGreaterThanOrEqual(before.getTime() - 1);
      expect(createdAt.getTime()).toBeLessThanOrEqual(after.getTime() + 1);
      expect(Math.abs(availableAt.getTime() - createdAt.getTime())).toBeLessThanOrEqual(1);
    },

    'a thousand entries can be stored in one call': async (outbox) => {
      const store = outbox.createStore();
      await store.enqueue(entries(1_000));
      expect((await store.count()).pending).toBe(1_000);
    },

    'availableAt accepts the earliest and the latest time allowed': async (outbox) => {
      const store = outbox.createStore();
      const first = new Date('1000-01-01T00:00:00.000Z');
      const last = new Date('9999-12-31T23:59:59.999Z');
      await store.enqueue([
        entry({ id: 'first', availableAt: first }),
        entry({ id: 'last', availableAt: last }),
      ]);
      await store.enqueue([
        entry({ id: 'k-first', key: 'a', availableAt: first }),
        entry({ id: 'k-last', key: 'b', availableAt: last }),
      ]);
      expect((await stored(store, 'first')).availableAt).toEqual(first);
      expect((await stored(store, 'last')).availableAt).toEqual(last);
      const { rows } = await claim(store);
      expect(idsOf(rows).sort()).toEqual(['first', 'k-first']);
    },
  },
};
