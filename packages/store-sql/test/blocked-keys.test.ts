import { VirtualClock } from '@postcommit/store-memory';
import { beforeEach, describe, expect, it } from 'vitest';
import type { KeyedRequest } from '../src/claim/claim-runner.js';
import { ClaimScheduler } from '../src/claim/claim-scheduler.js';
import { claimKeyed, DueQueue, type DueRow } from './due-queue.js';

const MILLION = 1_000_000;
const LIMIT = 100;

describe('rows of blocked keys', () => {
  let clock: VirtualClock;
  let queue: DueQueue;
  let scheduler: ClaimScheduler;
  let asked: KeyedRequest[];
  let inFlight: string[];

  beforeEach(() => {
    clock = new VirtualClock();
    queue = new DueQueue();
    [asked, inFlight] = [[], []];
    scheduler = new ClaimScheduler(
      {
        claimUnkeyed: async () => ({ rows: [], keyedDue: true }),
        claimUnkeyedExcept: async () => {
          throw new Error('no topic is left out');
        },
        pendingKeys: async (after, limit) => queue.pendingKeys(after, limit),
        claimKeyed: async (request) => {
          asked.push(request);
          const answer = claimKeyed(queue, request);
          const { blockedKeys } = answer;
          return { ...answer, blockedKeys: blockedKeys.length > 0 ? [...blockedKeys, ...inFlight] : [] };
        },
      },
      clock,
    );
  });

  const addBlocked = (count: number, dueAtMs: number, key = 'hot'): DueRow[] => {
    const added = queue.add(count, 't', dueAtMs, key);
    for (const row of added) row.isBlocked = true;
    return added;
  };
  const claim = async (): Promise<number[]> => {
    const rows = await scheduler.claim({ token: 't', limit: LIMIT, timeoutMs: 60_000 });
    return rows.map(({ seq }) => Number(seq));
  };
  const seqsOf = (rows: readonly DueRow[]): number[] => rows.map(({ seq }) => seq);

  it('a million of them are passed by one claim, and not read again', async () => {
    addBlocked(MILLION, 1_000);
    expect(await claim()).toEqual([]);
    expect(queue.windowsRead().length).toBeLessThan(140);
    // Pass the rest of the last window, and sweep.
    for (let pass = 0; pass < 3; pass++) await claim();
    await clock.advance(1_001);
    await claim();
    for (let arrival = 0; arrival < 20; arrival++) {
      const [row] = queue.add(1, 't', 30_000 + arrival, `key-${arrival}`);
      queue.windowsRead();
      expect(await claim()).toEqual([row?.seq]);
      expect(queue.windowsRead()).toEqual([500]);
      expect(queue.lastWindow).toHaveLength(1);
    }
  });

  it('are claimed by the next claim once their key is free, wherever the search has been', async () => {
    const blocked = addBlocked(MILLION / 10, 1_000);
    expect(await claim()).toEqual([]);
    for (const row of blocked) row.isBlocked = false;
    asked = [];
    expect(await claim()).toEqual(seqsOf(blocked.slice(0, LIMIT)));
    expect(asked).toHaveLength(1);
  });

  it("are read again while they don't fill a window: that costs as little as looking up their keys", async () => {
    addBlocked(499, 1_000);
    for (let poll = 0; poll < 3; poll++) expect(await claim()).toEqual([]);
    expect(asked.every(({ after, parked }) => after === undefined && parked.length === 0)).toBe(true);
  });

  it('a released row is found by the next claim if it was in flight when the search passed it', async () => {
    const [released] = addBlocked(1, 500, 'in flight');
    if (released) released.isClaimed = true;
    inFlight = ['in flight'];
    addBlocked(MILLION / 10, 1_000);
    expect(await claim()).toEqual([]);
    if (released) Object.assign(released, { isClaimed: false, isBlocked: false });
    expect(await claim()).toEqual([released?.seq]);
  });

  it('one that becomes claimable before the place is found within a second, however many are there', async () => {
    addBlocked(MILLION / 10, 10_000);
    expect(await claim()).toEqual([]);
    const [early] = queue.add(1, 't', 1_000, 'other');
    expect(await claim()).toEqual([]);
    await clock.advance(1_000);
    expect(await claim()).toEqual([early?.seq]);
  });

  it('a row behind a million of them is found while they are passed', async () => {
    addBlocked(MILLION, 1_000);
    const [other] = queue.add(1, 't', 2_000, 'other');
    expect(await claim()).toEqual([other?.seq]);
    // The first four windows, and one beside the look at the keys.
    expect(queue.windowsRead()).toEqual([500, 1_000, 2_000, 4_000, 8_000]);
  });

  it('the sweep that finds it goes through 500 keys a second, and begins again', async () => {
    addBlocked(600, 10_000);
    expect(await claim()).toEqual([]);
    for (let key = 0; key < 1_200; key++) addBlocked(1, 1_000, `key-${String(key).padStart(4, '0')}`);
    const swept: number[] = [];
    for (let second = 0; second < 4; second++) {
      asked = [];
      await clock.advance(1_000);
      await claim();
      swept.push(asked[0]?.parked.length ?? 0);
    }
    // Of 1,201 keys; the parked one is looked up in any case.
    expect(swept).toEqual([500, 501, 202, 500]);
  });

  it('once their key is free, they take turns with the rows behind them', async () => {
    const rows = addBlocked(500, 1_000);
    await claim();
    for (const row of rows) row.isBlocked = false;
    queue.add(1_000, 't', 2_000, 'other');
    const keys: unknown[] = [];
    for (let claims = 0; claims < 4; claims++) {
      const [first] = await claim();
      keys.push(queue.rows.find(({ seq }) => seq === first)?.key);
    }
    expect(keys).toEqual(['hot', 'other', 'hot', 'other']);
  });

  it('keys without a row are no longer looked up', async () => {
    const rows = addBlocked(500, 1_000);
    await claim();
    for (const row of rows) row.isClaimed = true;
    await claim();
    asked = [];
    await claim();
    expect(asked.flatMap(({ parked }) => parked)).toEqual([]);
  });

  it('a claim looks up at most 500 keys, once, and many keys take turns', async () => {
    for (let key = 0; key < 1_200; key++) addBlocked(1, 1_000, `key-${key}`);
    await claim();
    expect(Math.max(...asked.map(({ parked }) => parked.length))).toBeLessThanOrEqual(500);
    const lookedUp = new Set<string>();
    for (let poll = 0; poll < 3; poll++) {
      asked = [];
      await claim();
      expect(asked.slice(1).every(({ parked }) => parked.length === 0)).toBe(true);
      for (const key of asked[0]?.parked ?? []) lookedUp.add(key);
    }
    // The last window is not full.
    expect(lookedUp.size).toBeGreaterThanOrEqual(1_000);
  });

  it('windows with many keys stay small', async () => {
    for (let key = 0; key < 8_000; key++) addBlocked(1, 1_000, `key-${key}`);
    await claim();
    expect(queue.windowsRead().slice(0, 4)).toEqual([500, 1_000, 1_000, 1_000]);
  });

  it('more keys than can be remembered do not hide the rows behind them for long', async () => {
    for (let key = 0; key < 12_000; key++) addBlocked(1, 1_000, `key-${key}`);
    await claim();
    for (let arrival = 0; arrival < 3; arrival++) {
      const [row] = queue.add(1, 't', 2_000 + arrival, 'other');
      expect([...(await claim()), ...(await claim())]).toEqual([row?.seq]);
    }
  });

  it("a search that can't continue, since the lock is taken, ends the claim", async () => {
    let locked = 0;
    const stuck = new ClaimScheduler(
      {
        claimUnkeyed: async () => ({ rows: [], keyedDue: true }),
        claimUnkeyedExcept: async () => ({ rows: [], keyedDue: true, window: { rows: 0 } }),
        pendingKeys: async () => [],
        claimKeyed: async () => {
          locked += 1;
          return undefined;
        },
      },
      clock,
    );
    expect(await stuck.claim({ token: 't', limit: LIMIT, timeoutMs: 60_000 })).toEqual([]);
    expect(locked).toBe(1);
  });
});
