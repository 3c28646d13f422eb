import type { OutboxWorkers, WorkerReport, WorkerSighting } from '@postcommit/core/internal';
import { workerToken } from '@postcommit/core/internal';
import { expect } from 'vitest';
import { type BehaviourGroup, CLAIM_TIMEOUT_MS, claim, entries, stored } from '../behaviour.js';
import { capability, type OutboxFixture } from '../store-harness.js';

export const TAKEOVER_MS = 20_000;
/** A test on a slow machine may need this long between two steps. */
const SLACK_MS = 15_000;

const IDLE: WorkerReport = { rowsInFlight: 0, isListening: false, outages: [] };

const BUSY: WorkerReport = {
  rowsInFlight: 7,
  isListening: true,
  outages: [
    { destination: 'rabbit', sinceMs: 1_500, nextTryInMs: 30_000, error: 'ECONNREFUSED: it’s "away"\n' },
  ],
};

export function workersOf(outbox: OutboxFixture): OutboxWorkers {
  return capability(outbox, 'workers');
}

export async function registered(
  outbox: OutboxFixture,
  id: string,
  takeoverMs = TAKEOVER_MS,
): Promise<OutboxWorkers> {
  const workers = workersOf(outbox);
  await workers.register({ id, host: `host of ${id}`, pid: 4_000_000, version: '1.2.3', takeoverMs }, IDLE);
  return workers;
}

/** What a worker sees of another one. Registers the one that looks. */
async function sighting(workers: OutboxWorkers, id: string): Promise<WorkerSighting | undefined> {
  await workers.register({ id: 'observer', host: 'h', pid: 1, version: '1', takeoverMs: 1_000 }, IDLE);
  return (await workers.beat('observer', IDLE))?.find((other) => other.id === id);
}

export async function declareLost(workers: OutboxWorkers, id: string): Promise<void> {
  const seen = await sighting(workers, id);
  expect(await workers.declareLost(id, seen?.lastSeen ?? 'never'), `${id} is declared lost`).toBe(true);
}

/** The ids of all records but the observer's. */
async function recorded(workers: OutboxWorkers): Promise<string[]> {
  const ids = (await workers.list()).map(({ id }) => id);
  return ids.filter((id) => id !== 'observer').sort();
}

export const workers: BehaviourGroup = {
  name: 'workers',
  behaviours: {
    'a registered worker is listed with all that is known of it': async (outbox) => {
      const store = workersOf(outbox);
      const identity = { id: 'w1', host: 'app-7.example', pid: 4_194_304, version: '1.0.0-rc.1+b' };
      await store.register({ ...identity, takeoverMs: TAKEOVER_MS }, BUSY);
      const [record, ...others] = await store.list();
      expect(others).toEqual([]);
      expect(record).toEqual({
        ...identity,
        ...BUSY,
        takeoverMs: TAKEOVER_MS,
        isLost: false,
        startedAgeMs: expect.any(Number),
        lastSeenAgeMs: expect.any(Number),
      });
    },

    'a heartbeat records the time and what the worker says of itself': async (outbox) => {
      const store = await registered(outbox, 'w1');
      await outbox.advance(60_000);
      expect(await store.beat('w1', BUSY)).toEqual([]);
      const [record] = await store.list();
      expect(record).toMatchObject(BUSY);
      expect(record?.lastSeenAgeMs).toBeGreaterThanOrEqual(0);
      expect(record?.lastSeenAgeMs).toBeLessThan(SLACK_MS);
      expect(record?.startedAgeMs).toBeGreaterThanOrEqual(60_000);
      expect(record?.startedAgeMs).toBeLessThan(60_000 + SLACK_MS);
    },

    'a heartbeat returns all other workers, and how long ago each was seen': async (outbox) => {
      const store = await registered(outbox, 'w1');
      await registered(outbox, 'w2', 5_000);
      await outbox.advance(60_000);
      await registered(outbox, 'w3', 7_000);
      const others = [...((await store.beat('w1', IDLE)) ?? [])].sort((a, b) => (a.id < b.id ? -1 : 1));
      expect(others).toMatchObject([
        { id: 'w2', host: 'host of w2', pid: 4_000_000, takeoverMs: 5_000, isLost: false },
        { id: 'w3', host: 'host of w3', pid: 4_000_000, takeoverMs: 7_000, isLost: false },
      ]);
      expect(others[0]?.ageMs).toBeGreaterThanOrEqual(60_000);
      expect(others[1]?.ageMs).toBeGreaterThanOrEqual(0);
      expect(others[1]?.ageMs).toBeLessThan(SLACK_MS);
    },

    'lastSeen changes with each heartbeat, and only then': async (outbox) => {
      const store = await registered(outbox, 'w1');
      const seen = [await sighting(store, 'w1'), await sighting(store, 'w1')];
      expect(seen[1]?.lastSeen).toBe(seen[0]?.lastSeen);
      for (let beats = 0; beats < 5; beats++) {
        await store.beat('w1', IDLE);
        seen.push(await sighting(store, 'w1'));
      }
      expect(new Set(seen.map((one) => one?.lastSeen)).size).toBe(1 + 5);
    },

    'a heartbeat without a record is not answered and leaves none': async (outbox) => {
      const store = await registered(outbox, 'w1');
      expect(await store.beat('w2', IDLE)).toBeUndefined();
      await store.remove('w1');
      expect(await store.beat('w1', IDLE)).toBeUndefined();
      expect(await store.list()).toEqual([]);
    },

    'a worker is not declared lost if it was seen since': async (outbox) => {
      const store = await registered(outbox, 'w1');
      const seen = await sighting(store, 'w1');
      await store.beat('w1', IDLE);
      expect(await store.declareLost('w1', seen?.lastSeen ?? '')).toBe(false);
      expect(await store.beat('w1', IDLE)).toHaveLength(1);
      expect(await sighting(store, 'w1')).toMatchObject({ isLost: false });
      expect(await store.declareLost('unknown', seen?.lastSeen ?? '')).toBe(false);
    },

    'of several that declare a worker lost, one does it': async (outbox) => {
      const store = await registered(outbox, 'w1');
      const { lastSeen = '' } = (await sighting(store, 'w1')) ?? {};
      const done = await Promise.all([1, 2, 3, 4].map(() => store.declareLost('w1', lastSeen)));
      expect(done.filter((did) => did)).toEqual([true]);
      expect(await store.declareLost('w1', lastSeen)).toBe(false);
    },

    'the heartbeat of a lost worker is not answered, and others see that it is lost': async (outbox) => {
      const store = await registered(outbox, 'w1');
      await declareLost(store, 'w1');
      expect(await store.beat('w1', IDLE)).toBeUndefined();
      expect(await sighting(store, 'w1')).toMatchObject({ id: 'w1', isLost: true });
      expect((await store.list()).find(({ id }) => id === 'w1')).toMatchObject({ isLost: true });
    },

    'registering again keeps the record, and does not revive a lost worker': async (outbox) => {
      const store = await registered(outbox, 'w1');
      await registered(outbox, 'w1');
      expect(await store.beat('w1', IDLE)).toEqual([]);
      await declareLost(store, 'w1');
      await registered(outbox, 'w1');
      expect(await store.beat('w1', IDLE)).toBeUndefined();
    },

    'only the record of the worker that stopped is removed': async (outbox) => {
      const store = await registered(outbox, 'w1');
      await registered(outbox, 'w2');
      await store.remove('w1');
      await store.remove('w1');
      expect(await recorded(store)).toEqual(['w2']);
    },

    'claims under a token of the caller carry it': async (outbox) => {
      const store = outbox.createStore();
      const token = workerToken('w'.repeat(24), 46_655);
      await store.enqueue(entries(1));
      await store.fetchPending(1, { token });
      expect(await stored(store, 'm1')).toMatchObject({ claimToken: token });
      expect(await store.markDispatched(['m1'], token)).toEqual(['m1']);
    },

    'a claim that outlives its worker ends by itself': async (outbox) => {
      const store = outbox.createStore({ claimTimeoutMs: CLAIM_TIMEOUT_MS });
      await store.enqueue(entries(1));
      await store.fetchPending(1, { token: workerToken('w1', 1) });
      await outbox.advance(CLAIM_TIMEOUT_MS + 1_000);
      expect((await claim(store)).ids).toEqual(['m1']);
    },
  },
};
