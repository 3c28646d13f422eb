import { VirtualClock } from '@postcommit/store-memory';
import { beforeEach, describe, expect, it } from 'vitest';
import type { WindowAnswer } from '../src/claim/claim-runner.js';
import { ClaimScheduler } from '../src/claim/claim-scheduler.js';
import { FRONT_SEARCH_INTERVAL_MS } from '../src/claim/front-search.js';
import { claimKeyed, DueQueue, recordOf, windowSeen } from './due-queue.js';

const MILLION = 1_000_000;
const LIMIT = 100;
const TIMEOUT_MS = 1_000;

describe.each(['without a key', 'with a key'])('rows %s, while a topic is left out', (kind) => {
  const isKeyed = kind === 'with a key';
  let clock: VirtualClock;
  let queue: DueQueue;
  let scheduler: ClaimScheduler;
  let looksTakeMs: number;

  beforeEach(() => {
    clock = new VirtualClock();
    queue = new DueQueue();
    looksTakeMs = 0;
    scheduler = new ClaimScheduler(
      {
        claimUnkeyed: async () => ({ rows: [], keyedDue: isKeyed }),
        claimUnkeyedExcept: async (request): Promise<WindowAnswer> => {
          if (isKeyed) return { rows: [], keyedDue: true, window: { rows: 0 } };
          await clock.advance(looksTakeMs);
          const { window, claimed } = queue.look(request);
          return { rows: claimed.map(recordOf), keyedDue: false, window: windowSeen(window) };
        },
        pendingKeys: async () => [],
        claimKeyed: async (request) => {
          await clock.advance(looksTakeMs);
          return claimKeyed(queue, request);
        },
      },
      clock,
    );
  });

  const claimUpTo = async (limit: number, ...exceptTopics: string[]): Promise<number[]> => {
    const rows = await scheduler.claim({ token: 't', limit, timeoutMs: TIMEOUT_MS, exceptTopics });
    return rows.map(({ seq }) => Number(seq));
  };
  const claim = (...exceptTopics: string[]): Promise<number[]> => claimUpTo(LIMIT, ...exceptTopics);
  /** Claims until one returns rows; returns how many claims that took. */
  const claimsUntilFound = async (): Promise<number> => {
    for (let claims = 1; claims <= 300; claims++) if ((await claim('away')).length > 0) return claims;
    throw new Error('never found');
  };

  it('a million rows that are left out are passed by one claim, and then no more', async () => {
    queue.add(MILLION, 'away', 1_000);
    queue.add(4 * LIMIT, 'here', 2_000);
    expect(await claim('away')).toHaveLength(LIMIT);
    // May pass the rest of the last window.
    expect(await claim('away')).toHaveLength(LIMIT);
    queue.windowsRead();
    expect([(await claim('away')).length, (await claim('away')).length]).toEqual([LIMIT, LIMIT]);
    expect(queue.windowsRead().length).toBe(2);
  });

  it('the place is kept while claims that leave nothing out take turns, as with a rate limit', async () => {
    queue.add(MILLION, 'away', 1_000);
    queue.add(5 * LIMIT, 'here', 2_000);
    for (let turn = 0; turn < 2; turn++) await claim('away');
    for (let turn = 0; turn < 3; turn++) {
      await claim();
      await clock.advance(100);
      queue.windowsRead();
      expect(await claim('away')).toHaveLength(LIMIT);
      expect(queue.windowsRead()).toHaveLength(1);
    }
  });

  it('the place is kept although the search took longer than a second', async () => {
    queue.add(MILLION, 'away', 1_000);
    queue.add(5 * LIMIT, 'here', 2_000);
    looksTakeMs = FRONT_SEARCH_INTERVAL_MS / 5;
    let found = 0;
    while (found === 0) found = (await claim('away')).length;
    looksTakeMs = 0;
    await claim();
    queue.windowsRead();
    expect(await claim('away')).toHaveLength(LIMIT);
    expect(queue.windowsRead().length).toBeLessThanOrEqual(1 + 4);
  });

  it('the place is forgotten when the topic was not left out for a second', async () => {
    queue.add(MILLION, 'away', 1_000);
    queue.add(5 * LIMIT, 'here', 2_000);
    for (let turn = 0; turn < 2; turn++) await claim('away');
    await claim();
    await clock.advance(FRONT_SEARCH_INTERVAL_MS);
    await claim();
    queue.windowsRead();
    await claim('away');
    expect(queue.windowsRead().length).toBeGreaterThan(10);
  });

  it('a claim reads windows that grow, for at most a tenth of its time', async () => {
    queue.add(MILLION, 'away', 1_000);
    looksTakeMs = TIMEOUT_MS / 100;
    expect(await claim('away')).toEqual([]);
    // Ten would be a tenth; those of a turn are not interrupted.
    const looks = isKeyed ? 12 : 16;
    expect(queue.windowsRead()).toEqual([500, 1_000, 2_000, 4_000, ...Array(looks - 4).fill(8_000)]);
    // The next one continues, with windows as large.
    expect(await claim('away')).toEqual([]);
    expect(queue.windowsRead()).toEqual(Array(looks).fill(8_000));
  });

  it('a row that arrives behind a million is found by the next claim', async () => {
    queue.add(MILLION, 'away', 1_000);
    queue.add(1, 'here', 2_000);
    await claimsUntilFound();
    for (let arrival = 0; arrival < 20; arrival++) {
      queue.add(1, 'away', 3_000 + arrival);
      const [row] = queue.add(1, 'here', 3_000 + arrival);
      await clock.advance(100);
      expect(await claim('away')).toEqual([row?.seq]);
    }
  });

  it('one that commits a little late is found right away', async () => {
    queue.add(1, 'away', 1_000);
    queue.add(1, 'here', 1_000);
    queue.add(10, 'away', 5_000);
    await claim('away');
    expect(await claim('away')).toEqual([]);
    const [late] = queue.add(1, 'here', 4_500);
    expect(await claim('away')).toEqual([late?.seq]);
  });

  it('a late row is found among the others that arrive in a second', async () => {
    queue.add(1, 'away', 1_000);
    await claim('away');
    for (let ms = 2_000; ms < 3_000; ms++) queue.add(1, 'away', ms);
    expect(await claim('away')).toEqual([]);
    const [late] = queue.add(1, 'here', 2_990);
    expect(await claim('away')).toEqual([late?.seq]);
  });

  it('where few rows are left out, a claim a second reads them once', async () => {
    queue.add(300, 'away', 1_000);
    await claim('away');
    for (let poll = 0; poll < 3; poll++) {
      queue.windowsRead();
      await clock.advance(FRONT_SEARCH_INTERVAL_MS);
      expect(await claim('away')).toEqual([]);
      expect(queue.windowsRead()).toEqual([500]);
    }
  });

  it('the place is forgotten when the topics change', async () => {
    const away = queue.add(1_000, 'away', 1_000);
    queue.add(1, 'here', 60_000);
    await claimsUntilFound();
    expect(await claim('away')).toEqual([]);
    expect(await claim('away', 'other')).toEqual([]);
    expect(await claim('other')).toEqual(away.slice(0, LIMIT).map(({ seq }) => seq));
  });

  if (isKeyed) return;

  it('one that becomes claimable far in front is found by a sweep of 7,500 rows a second', async () => {
    queue.add(MILLION / 10, 'away', 1_000);
    const [first] = queue.add(1, 'here', 2_000);
    await claimsUntilFound();
    queue.add(MILLION / 10, 'away', 60_000);
    queue.add(1, 'here', 90_000);
    await claimsUntilFound();
    // Its owner released it.
    if (first) first.isClaimed = false;
    let claims = 0;
    for (let found: number[] = []; found.length === 0; claims++) {
      expect(claims).toBeLessThan(20);
      await clock.advance(FRONT_SEARCH_INTERVAL_MS);
      found = await claim('away');
      if (found.length > 0) expect(found).toEqual([first?.seq]);
    }
    expect(claims).toBe(14);
  });

  it('behind a full batch, the window is as large as the batch: entries read', async () => {
    queue.add(1_000, 'away', 1_000);
    queue.add(20 * LIMIT, 'here', 2_000);
    for (let claims = 0; claims < 3; claims++) await claim('away');
    queue.windowsRead();
    for (let claims = 0; claims < 10; claims++) expect(await claim('away')).toHaveLength(LIMIT);
    expect(queue.windowsRead()).toEqual(Array(10).fill(LIMIT));
  });

  it('where every other row is left out, a window that was too small is tried once a second', async () => {
    for (let row = 0; row < 2_000; row++) queue.add(1, row % 2 ? 'away' : 'here', 1_000 + row);
    for (let second = 0; second < 2; second++) {
      for (let claims = 0; claims < 3; claims++) expect(await claim('away')).toHaveLength(LIMIT);
      queue.windowsRead();
      expect(await claim('away')).toHaveLength(LIMIT);
      expect(queue.windowsRead()).toEqual([500]);
      await clock.advance(FRONT_SEARCH_INTERVAL_MS);
    }
  });

  it('a sweep reads no more for a large batch: entries read', async () => {
    queue.add(MILLION, 'away', 1_000);
    queue.add(5_000, 'here', 2_000);
    let found = 0;
    while (found === 0) found = (await claimUpTo(1_000, 'away')).length;
    await clock.advance(FRONT_SEARCH_INTERVAL_MS);
    queue.windowsRead();
    expect(await claimUpTo(1_000, 'away')).toHaveLength(1_000);
    expect(queue.windowsRead()).toEqual([500, 1_000, 2_000, 4_000, 1_000]);
  });

  it('what a sweep finds is no whole batch if more are due', async () => {
    queue.add(10_000, 'away', 1_000);
    const rows = queue.add(400, 'here', 500);
    queue.add(2_000, 'here', 2_000);
    for (const row of rows) row.isClaimed = true;
    expect(await claimUpTo(1_000, 'away')).toHaveLength(1_000);
    // Their owner released them.
    for (const row of rows) row.isClaimed = false;
    await clock.advance(FRONT_SEARCH_INTERVAL_MS);
    const found = await claimUpTo(1_000, 'away');
    expect(found).toHaveLength(1_000);
    expect(found.slice(0, 250)).toEqual(rows.slice(0, 250).map(({ seq }) => seq));
  });

  it('fill the batch from several windows', async () => {
    const seqs: unknown[] = [];
    for (let block = 0; block < 3; block++) {
      queue.add(700, 'away', block);
      seqs.push(queue.add(1, 'here', block)[0]?.seq);
    }
    expect(await claim('away')).toEqual(seqs);
  });
});
