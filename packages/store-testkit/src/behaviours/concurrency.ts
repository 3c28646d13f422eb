import type { OutboxRow, OutboxStore } from '@postcommit/core';
import { expect } from 'vitest';
import { type BehaviourGroup, entries, entry, idsOf } from '../behaviour.js';

/** More batches than any test needs: a broken store must fail a behaviour, not hang it. */
const MAX_ROUNDS = 500;

/** Claims in small batches until nothing is left, without settling. */
async function claimAll(store: OutboxStore): Promise<OutboxRow[]> {
  const claimed: OutboxRow[] = [];
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const rows = await store.fetchPending(7);
    if (rows.length === 0) break;
    claimed.push(...rows);
  }
  return claimed;
}

/** Dispatches in small batches until nothing is left, and records the ids in the order they were published. */
async function drain(store: OutboxStore, published: OutboxRow[]): Promise<void> {
  for (let round = 0, empty = 0; round < MAX_ROUNDS && empty < 3; round++) {
    const rows = await store.fetchPending(5);
    empty = rows.length === 0 ? empty + 1 : 0;
    for (const row of rows) published.push(row);
    if (rows.length > 0) await store.markDispatched(idsOf(rows), rows[0]?.claimToken);
  }
}

export const concurrency: BehaviourGroup = {
  name: 'concurrency',
  behaviours: {
    'with concurrent claimers, every row has exactly one owner': async (outbox) => {
      const stores = Array.from({ length: 4 }, () => outbox.createStore());
      const all = entries(200);
      await stores[0]?.enqueue(all);
      const claimed = (await Promise.all(stores.map(claimAll))).flat();
      expect(idsOf(claimed).sort()).toEqual(all.map(({ id }) => id).sort());
    },

    'with concurrent claimers, a key has one owner at a time': async (outbox) => {
      const stores = Array.from({ length: 4 }, () => outbox.createStore());
      const keyed = Array.from({ length: 60 }, (_, index) =>
        entry({ id: `k${index}`, key: `key-${index % 3}` }),
      );
      await stores[0]?.enqueue(keyed);
      const claims = (await Promise.all(stores.map((store) => store.fetchPending(10)))).flat();
      for (const key of ['key-0', 'key-1', 'key-2']) {
        const owners = new Set(claims.filter((row) => row.key === key).map(({ claimToken }) => claimToken));
        expect(owners.size, `owners of ${key}`).toBeLessThanOrEqual(1);
      }
      expect(claims.length).toBeGreaterThan(0);
    },

    'concurrent dispatchers publish every row once, and each key in order': async (outbox) => {
      const stores = Array.from({ length: 3 }, () => outbox.createStore());
      const mixed = Array.from({ length: 120 }, (_, index) =>
        index % 2 === 0 ? entry({ id: `r${index}` }) : entry({ id: `r${index}`, key: `key-${index % 5}` }),
      );
      await stores[0]?.enqueue(mixed);
      const published: OutboxRow[] = [];
      await Promise.all(stores.map((store) => drain(store, published)));
      // The last rows may have been blocked by a key while the other dispatchers looked for work.
      for (const store of stores) await drain(store, published);
      expect(idsOf(published).sort()).toEqual(mixed.map(({ id }) => id).sort());
      for (const key of new Set(mixed.flatMap((row) => row.key ?? []))) {
        const order = published.filter((row) => row.key === key).map(({ id }) => Number(id.slice(1)));
        expect(order, `order of ${key}`).toEqual([...order].sort((a, b) => a - b));
      }
    },

    'rows enqueued while others are claimed are neither lost nor published twice': async (outbox) => {
      const [producer, consumer] = [outbox.createStore(), outbox.createStore()];
      const published: OutboxRow[] = [];
      const ids = Array.from({ length: 40 }, (_, index) => `p${index}`);
      await Promise.all([
        (async () => {
          for (const id of ids) await producer.enqueue(entry({ id }));
        })(),
        drain(consumer, published),
      ]);
      await drain(consumer, published);
      expect(idsOf(published).sort()).toEqual([...ids].sort());
    },
  },
};
