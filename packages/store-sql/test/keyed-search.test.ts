import { VirtualClock } from '@postcommit/store-memory';
import { describe, expect, it } from 'vitest';
import type { KeyedAnswer, KeyedRequest } from '../src/claim/claim-runner.js';
import { ClaimScheduler } from '../src/claim/claim-scheduler.js';
import { KeyedSearch } from '../src/claim/keyed-search.js';

const LIMIT = 1_000;
const REQUEST = { token: 't', timeoutMs: 1_000, limit: LIMIT };
const CLAIM = { ...REQUEST, mayRetake: true };

function rows(count: number): { id: string; retakes: null }[] {
  return Array.from({ length: count }, (_, place) => ({ id: `m${place}`, retakes: null }));
}

/** The places, among `claims`, at which rows with a key come first, if each search for them finds `found` rows. */
async function turns(found: number, claims: number): Promise<number[]> {
  let searched = 0;
  const scheduler = new ClaimScheduler(
    {
      claimUnkeyed: async ({ limit }) => ({
        rows: rows(limit).map((row, seq) => ({ ...row, created_at: 1, available_at: null, seq })),
        keyedDue: true,
      }),
      claimUnkeyedExcept: async () => {
        throw new Error('no topic is left out');
      },
      claimKeyed: async () => {
        searched += 1;
        return { rows: rows(found), window: { rows: LIMIT, last: { availableAt: '1', seq: '1' } } };
      },
    },
    new VirtualClock(),
  );
  // Sees that rows with a key are due, and that the others fill the batches.
  await scheduler.claim(REQUEST);
  const theirs: number[] = [];
  for (let claim = 0; claim < claims; claim++) {
    const before = searched;
    expect(await scheduler.claim(REQUEST)).toHaveLength(LIMIT);
    if (searched > before) theirs.push(claim);
  }
  return theirs;
}

describe('rows with a key, while rows without one fill the batches', () => {
  it('come first every other time where many of them are free', async () => {
    expect(await turns(500, 10)).toEqual([0, 2, 4, 6, 8]);
  });

  it('come first less often where only one key is free: each search costs the others', async () => {
    expect(await turns(100, 14)).toEqual([0, 2, 6, 10]);
  });

  it('are looked for less and less often while all are blocked, but never given up', async () => {
    expect(await turns(0, 70)).toEqual([0, 2, 5, 10, 19, 36, 53]);
  });
});

describe('rows with a key alone', () => {
  it('are asked for whole batches at every turn', async () => {
    const limits: number[] = [];
    const keyed = new KeyedSearch(
      {
        claimKeyed: async ({ limit }) => {
          limits.push(limit);
          return { rows: rows(1), window: { rows: 1 } };
        },
      },
      new VirtualClock(),
    );
    await keyed.claimBatch(CLAIM);
    expect(limits).toEqual([LIMIT]);
  });
});

describe('a search whose window holds only blocked keys', () => {
  const PLACE = { availableAt: '5', seq: '7' };
  let asked: KeyedRequest[] = [];

  function searchWith(answers: (KeyedAnswer | undefined)[]): KeyedSearch {
    asked = [];
    return new KeyedSearch(
      {
        claimKeyed: async (request) => {
          asked.push(request);
          return answers.shift();
        },
      },
      new VirtualClock(),
    );
  }

  const blocked = (window: number): KeyedAnswer => ({ rows: [], window: { rows: window, last: PLACE } });
  const places = (): unknown[] => asked.map(({ after }) => after?.seq ?? 'front');

  it('continues behind it in the same claim, and starts over once it has found something', async () => {
    const found = { rows: rows(1), window: { rows: 2_000 } };
    const keyed = searchWith([blocked(2_000), found, found]);
    expect(await keyed.claimBatch(CLAIM)).toHaveLength(1);
    await keyed.claimBatch(CLAIM);
    expect(places()).toEqual(['front', '7', 'front']);
  });

  it('continues in the next claim where the others wait', async () => {
    const keyed = searchWith([blocked(1_000), blocked(1_000)]);
    await keyed.claimShare(CLAIM);
    await keyed.claimShare(CLAIM);
    expect(places()).toEqual(['front', '7']);
  });

  it('ends when it has seen all due rows from the front, and keeps its place while the lock is taken', async () => {
    const keyed = searchWith([blocked(2_000), undefined, blocked(1), blocked(1)]);
    expect(await keyed.claimBatch(CLAIM)).toEqual([]);
    expect(await keyed.claimBatch(CLAIM)).toEqual([]);
    expect(places()).toEqual(['front', '7', '7', 'front']);
  });
});
