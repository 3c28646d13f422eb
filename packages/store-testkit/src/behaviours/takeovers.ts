import type { OutboxRow, OutboxStore } from '@postcommit/core';
import { workerToken } from '@postcommit/core/internal';
import { expect } from 'vitest';
import { type BehaviourGroup, CLAIM_TIMEOUT_MS, claim, entries, entry, idsOf, stored } from '../behaviour.js';
import type { OutboxFixture } from '../store-harness.js';
import { declareLost, registered, TAKEOVER_MS, workersOf } from './workers.js';

/** More than a page of any store: taking over is not limited to one. */
const MANY = 1_200;

function openStore(outbox: OutboxFixture): OutboxStore {
  return outbox.createStore({ claimTimeoutMs: CLAIM_TIMEOUT_MS });
}

/** Claims rows as a registered worker does. */
async function claimAs(
  outbox: OutboxFixture,
  id: string,
  { limit = 100, takeoverMs = TAKEOVER_MS } = {},
): Promise<OutboxRow[]> {
  await registered(outbox, id, takeoverMs);
  return openStore(outbox).fetchPending(limit, { token: workerToken(id, 1) });
}

async function lose(outbox: OutboxFixture, id: string): Promise<number> {
  await declareLost(workersOf(outbox), id);
  return workersOf(outbox).takeOver(id);
}

export const takeovers: BehaviourGroup = {
  name: 'takeovers',
  behaviours: {
    'the rows of a lost worker are retaken one at a time, and its claim is fenced': async (outbox) => {
      const store = openStore(outbox);
      await store.enqueue(entries(3));
      const token = (await claimAs(outbox, 'w1'))[0]?.claimToken ?? '';
      expect(await store.fetchPending(10)).toEqual([]);
      expect(await lose(outbox, 'w1')).toBe(3);
      for (const id of ['m1', 'm2', 'm3']) {
        const { rows, ids } = await claim(store);
        expect(ids).toEqual([id]);
        expect(rows[0]).toMatchObject({ attempts: 0, retakes: 1 });
      }
      expect(await store.markDispatched(['m1', 'm2', 'm3'], token)).toEqual([]);
      expect((await store.count()).pending).toBe(3);
    },

    'all claims of a worker end, those of others stay': async (outbox) => {
      const store = openStore(outbox);
      await store.enqueue(entries(6));
      await registered(outbox, 'w1');
      // A prefix, another case and a wildcard are other workers.
      for (const [index, id] of ['w1', 'w10', 'W1', 'w_', '%', 'w1'].entries())
        await store.fetchPending(1, { token: workerToken(id, index) });
      expect(await lose(outbox, 'w1')).toBe(2);
      expect((await claim(store)).ids).toEqual(['m1']);
      expect((await claim(store)).ids).toEqual(['m6']);
      expect(await store.fetchPending(10)).toEqual([]);
    },

    'an id with a wildcard names one worker': async (outbox) => {
      const store = openStore(outbox);
      await store.enqueue(entries(3));
      await claimAs(outbox, 'w_1', { limit: 1 });
      for (const id of ['wx1', 'W_1']) await claimAs(outbox, id, { limit: 1 });
      expect(await lose(outbox, 'w_1')).toBe(1);
      expect((await claim(store)).ids).toEqual(['m1']);
      expect(await store.fetchPending(10)).toEqual([]);
    },

    'the claims of a worker that is not lost stay, as does its record': async (outbox) => {
      const store = openStore(outbox);
      await store.enqueue(entries(1));
      await claimAs(outbox, 'w1');
      expect(await workersOf(outbox).takeOver('w1')).toBe(0);
      expect(await store.fetchPending(10)).toEqual([]);
      expect(await workersOf(outbox).list()).toHaveLength(1);
    },

    'the claims of a worker without a record stay': async (outbox) => {
      const store = openStore(outbox);
      await store.enqueue(entries(1));
      await claimAs(outbox, 'w1');
      await workersOf(outbox).remove('w1');
      expect(await workersOf(outbox).takeOver('w1')).toBe(0);
      expect(await store.fetchPending(10)).toEqual([]);
    },

    'rows that ended are not touched': async (outbox) => {
      const store = openStore(outbox);
      await store.enqueue(entries(3));
      const token = (await claimAs(outbox, 'w1'))[0]?.claimToken ?? '';
      await store.markDispatched(['m1'], token);
      await store.markDead('m2', 'no', { claimToken: token });
      expect(await lose(outbox, 'w1')).toBe(1);
      expect(await store.count()).toMatchObject({ pending: 1, dispatched: 1, dead: 1 });
      // The receipts of the settle are still there.
      expect(await store.markDispatched(['m1'], token)).toEqual(['m1']);
    },

    'taking over removes the record, and again changes nothing': async (outbox) => {
      const store = openStore(outbox);
      await store.enqueue(entries(1));
      await claimAs(outbox, 'w1');
      await lose(outbox, 'w1');
      expect((await workersOf(outbox).list()).map(({ id }) => id)).toEqual(['observer']);
      await store.fetchPending(1, { token: workerToken('w1', 2) });
      expect(await workersOf(outbox).takeOver('w1')).toBe(0);
      expect(await store.fetchPending(10)).toEqual([]);
    },

    'a worker without claims leaves no record either': async (outbox) => {
      await registered(outbox, 'w1');
      expect(await lose(outbox, 'w1')).toBe(0);
      expect((await workersOf(outbox).list()).map(({ id }) => id)).toEqual(['observer']);
    },

    'each time a row is retaken, it waits twice as long for the next': async (outbox) => {
      const store = openStore(outbox);
      await store.enqueue(entries(1));
      for (const [retakes, waitMs] of [0, TAKEOVER_MS, 3 * TAKEOVER_MS].entries()) {
        const id = `w${retakes}`;
        // As long as the last wait may take.
        const long = { claimTimeoutMs: 600_000 };
        await registered(outbox, id);
        const rows = await outbox.createStore(long).fetchPending(10, { token: workerToken(id, 1) });
        expect(rows).toMatchObject([{ id: 'm1', retakes }]);
        expect(await lose(outbox, id)).toBe(1);
        if (waitMs === 0) continue;
        await outbox.advance(waitMs / 2);
        expect(await store.fetchPending(10), `after half of ${waitMs} ms`).toEqual([]);
        await outbox.advance(waitMs / 2 + 1_000);
      }
      expect(await store.fetchPending(10)).toMatchObject([{ id: 'm1', retakes: 3 }]);
    },

    'a row waits at most until its claim expires': async (outbox) => {
      const store = openStore(outbox);
      await store.enqueue(entries(1));
      await claimAs(outbox, 'w0');
      await lose(outbox, 'w0');
      expect(await claimAs(outbox, 'w1', { takeoverMs: 10 * CLAIM_TIMEOUT_MS })).toHaveLength(1);
      await lose(outbox, 'w1');
      expect(await store.fetchPending(10)).toEqual([]);
      await outbox.advance(CLAIM_TIMEOUT_MS + 1_000);
      expect(await store.fetchPending(10)).toMatchObject([{ id: 'm1', retakes: 2 }]);
    },

    'the rows of a key are retaken in order, one at a time': async (outbox) => {
      const store = openStore(outbox);
      await store.enqueue(entries(3, { key: 'k' }));
      expect(await claimAs(outbox, 'w1')).toHaveLength(3);
      expect(await lose(outbox, 'w1')).toBe(3);
      for (const id of ['m1', 'm2', 'm3']) {
        const { ids, token } = await claim(store);
        expect(ids).toEqual([id]);
        expect(await store.fetchPending(10), 'the key is held').toEqual([]);
        await store.markDispatched(ids, token);
      }
    },

    'a row that waits longer holds back the rows behind it with the same key': async (outbox) => {
      const store = openStore(outbox);
      await store.enqueue([...entries(2, { key: 'k' }), entry({ id: 'other', key: 'l' })]);
      await claimAs(outbox, 'w0');
      await lose(outbox, 'w0');
      expect(idsOf(await claimAs(outbox, 'w1'))).toEqual(['m1']);
      await lose(outbox, 'w1');
      expect((await claim(store)).ids, 'a follower must not overtake').toEqual(['other']);
      expect(await store.fetchPending(10)).toEqual([]);
      await outbox.advance(TAKEOVER_MS + 1_000);
      expect((await claim(store)).ids).toEqual(['m1']);
    },

    'a lost worker that comes back can’t extend its claims on rows with a key': async (outbox) => {
      const store = openStore(outbox);
      await store.enqueue(entries(2, { key: 'k' }));
      const token = (await claimAs(outbox, 'w1'))[0]?.claimToken ?? '';
      await lose(outbox, 'w1');
      expect((await claim(store)).ids).toEqual(['m1']);
      expect(await store.extendClaim(token, ['m1', 'm2'])).toEqual([]);
    },

    'taking over is not limited to one page': async (outbox) => {
      const store = openStore(outbox);
      await store.enqueue([...entries(MANY), entry({ id: 'keyed', key: 'k' })]);
      await registered(outbox, 'w1');
      for (let round = 0; round < 3; round++)
        await store.fetchPending(MANY, { token: workerToken('w1', round) });
      expect((await stored(store, 'keyed')).claimToken).toBeDefined();
      expect(await lose(outbox, 'w1')).toBe(MANY + 1);
      expect((await workersOf(outbox).list()).map(({ id }) => id)).toEqual(['observer']);
    },

    'taking over and settling at the same time neither fail nor settle a row twice': async (outbox) => {
      const store = openStore(outbox);
      await store.enqueue([...entries(60), entry({ id: 'k1', key: 'k' }), entry({ id: 'k2', key: 'k' })]);
      const rows = await claimAs(outbox, 'w1');
      expect(rows).toHaveLength(62);
      const token = rows[0]?.claimToken;
      await declareLost(workersOf(outbox), 'w1');
      const takeOver = (): Promise<number> => workersOf(outbox).takeOver('w1');
      const settle = (ids: string[]): Promise<string[]> => store.markDispatched(ids, token);
      const ids = idsOf(rows).reverse();
      const [settled, fencedLater] = await Promise.all([
        settle(ids.slice(0, 30)),
        settle(ids.slice(20)),
        takeOver(),
        takeOver(),
        takeOver(),
      ]);
      expect(new Set([...settled, ...fencedLater]).size).toBe(62);
      expect(await store.count()).toMatchObject({ pending: 0, dispatched: 62 });
    },
  },
};
