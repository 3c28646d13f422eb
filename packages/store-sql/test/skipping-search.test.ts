import { VirtualClock } from '@postcommit/store-memory';
import { beforeEach, describe, expect, it } from 'vitest';
import type { KeyedAnswer, WindowAnswer } from '../src/claim/claim-runner.js';
import { ClaimScheduler } from '../src/claim/claim-scheduler.js';
import { FRONT_SEARCH_INTERVAL_MS } from '../src/claim/front-search.js';
import type { DuePlace } from '../src/dialect.js';
import type { SqlRecord } from '../src/sql-statement.js';

const MILLION = 1_000_000;
const LIMIT = 100;

interface DueRow {
  readonly topic: string;
  readonly dueAtMs: number;
  readonly seq: number;
  /** Blocked rows of a key can't be claimed, but are not left out. */
  isBlocked?: boolean;
  isClaimed?: boolean;
}

/** A queue in due order, as a claim sees it; windows are found as an index finds them. */
class Queue {
  readonly rows: DueRow[] = [];
  /** The windows read since the last call of `read`. */
  #windows: number[] = [];
  #seq = 0;

  add(count: number, topic: string, dueAtMs: number): DueRow[] {
    const added = Array.from({ length: count }, () => ({ topic, dueAtMs, seq: ++this.#seq }));
    // Due order without sorting a million rows.
    const place = this.rows.findLastIndex((row) => row.dueAtMs <= dueAtMs) + 1;
    const behind = this.rows.splice(place);
    for (const row of added) this.rows.push(row);
    for (const row of behind) this.rows.push(row);
    return added;
  }

  windowsRead(): number[] {
    const read = this.#windows;
    this.#windows = [];
    return read;
  }

  look(request: Look): { window: DueRow[]; kept: DueRow[]; claimed: DueRow[] } {
    this.#windows.push(request.window);
    const window: DueRow[] = [];
    for (let place = this.#firstBehind(request.after); place < this.rows.length; place++) {
      const row = this.rows[place];
      if (row && !row.isClaimed) window.push(row);
      if (window.length === request.window) break;
    }
    const kept = window.filter(({ topic }) => !request.exceptTopics?.includes(topic));
    const claimed = kept.filter(({ isBlocked }) => !isBlocked).slice(0, request.limit);
    for (const row of claimed) row.isClaimed = true;
    return { window, kept, claimed };
  }

  #firstBehind(after: DuePlace | undefined): number {
    if (!after) return 0;
    const [dueAtMs, seq] = [Number(after.availableAt) / 1_000, Number(after.seq)];
    let [low, high] = [0, this.rows.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      const row = this.rows[middle] as DueRow;
      if (row.dueAtMs > dueAtMs || (row.dueAtMs === dueAtMs && row.seq > seq)) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}

interface Look {
  readonly limit: number;
  readonly window: number;
  readonly after: DuePlace | undefined;
  readonly exceptTopics?: readonly string[];
}

const placeOf = ({ dueAtMs, seq }: DueRow): DuePlace => ({
  availableAt: String(dueAtMs * 1_000),
  seq: String(seq),
});
const recordOf = ({ topic, dueAtMs, seq }: DueRow): SqlRecord => ({
  id: `m${seq}`,
  topic,
  seq: String(seq),
  created_at: dueAtMs,
  available_at: null,
  retakes: null,
});

describe.each(['without a key', 'with a key'])('rows %s, while a topic is left out', (kind) => {
  const isKeyed = kind === 'with a key';
  let clock: VirtualClock;
  let queue: Queue;
  let scheduler: ClaimScheduler;

  beforeEach(() => {
    clock = new VirtualClock();
    queue = new Queue();
    scheduler = new ClaimScheduler(
      {
        claimUnkeyed: async () => ({ rows: [], keyedDue: isKeyed }),
        claimUnkeyedExcept: async (request): Promise<WindowAnswer> => {
          if (isKeyed) return { rows: [], keyedDue: true, window: { rows: 0 } };
          const { window, claimed } = queue.look(request);
          return { rows: claimed.map(recordOf), keyedDue: false, window: seen(window) };
        },
        claimKeyed: async (request): Promise<KeyedAnswer> => {
          const { window, kept, claimed } = queue.look(request);
          const rows = claimed.map(recordOf);
          const [firstKept] = kept.map(placeOf);
          return {
            rows,
            window: rows.length > 0 ? { rows: window.length } : seen(window),
            ...(firstKept && { firstKept }),
          };
        },
      },
      clock,
    );
  });

  const seen = (window: DueRow[]): WindowAnswer['window'] => {
    const last = window.at(-1);
    return last ? { rows: window.length, last: placeOf(last) } : { rows: 0 };
  };
  const claim = async (...exceptTopics: string[]): Promise<number[]> => {
    const rows = await scheduler.claim({ token: 't', limit: LIMIT, timeoutMs: 1_000, exceptTopics });
    return rows.map(({ seq }) => Number(seq));
  };
  /** Claims until one returns rows; returns how many claims that took. */
  const claimsUntilFound = async (): Promise<number> => {
    for (let claims = 1; claims <= 300; claims++) if ((await claim('away')).length > 0) return claims;
    throw new Error('never found');
  };

  it('a million rows that are left out are passed after 26 claims, and then no more', async () => {
    queue.add(MILLION, 'away', 1_000);
    queue.add(3 * LIMIT, 'here', 2_000);
    expect(await claimsUntilFound()).toBe(26);
    queue.windowsRead();
    expect([(await claim('away')).length, (await claim('away')).length]).toEqual([LIMIT, LIMIT]);
    expect(queue.windowsRead().length).toBe(2);
  });

  it('a claim examines a bounded number of rows, in windows that grow', async () => {
    queue.add(MILLION, 'away', 1_000);
    expect(await claim('away')).toEqual([]);
    expect(queue.windowsRead()).toEqual([500, 1_000, 2_000, 4_000, 8_000, 8_000, 8_000, 8_000]);
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

  if (!isKeyed) {
    it('fill the batch from several windows', async () => {
      const seqs: unknown[] = [];
      for (let block = 0; block < 3; block++) {
        queue.add(700, 'away', block);
        seqs.push(queue.add(1, 'here', block)[0]?.seq);
      }
      expect(await claim('away')).toEqual(seqs);
    });
    return;
  }

  it('that are blocked are looked at again, from the first of them', async () => {
    queue.add(10_000, 'away', 1_000);
    const blocked = queue.add(2, 'here', 2_000);
    for (const row of blocked) row.isBlocked = true;
    queue.add(30_000, 'away', 60_000);
    for (let claims = 0; claims < 3; claims++) expect(await claim('away')).toEqual([]);
    for (const row of blocked) row.isBlocked = false;
    queue.windowsRead();
    expect(await claim('away')).toEqual(blocked.map(({ seq }) => seq));
    expect(queue.windowsRead()).toHaveLength(1);
  });
});
