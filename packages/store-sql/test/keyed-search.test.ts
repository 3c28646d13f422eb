import { VirtualClock } from '@postcommit/store-memory';
import { describe, expect, it } from 'vitest';
import type { KeyedAnswer } from '../src/claim/claim-runner.js';
import { ClaimScheduler } from '../src/claim/claim-scheduler.js';
import { KeyedSearch } from '../src/claim/keyed-search.js';

const LIMIT = 1_000;
const REQUEST = { token: 't', timeoutMs: 1_000, limit: LIMIT };
const CLAIM = { ...REQUEST, mayRetake: true };

function rows(count: number): { id: string; retakes: null }[] {
  return Array.from({ length: count }, (_, place) => ({ id: `m${place}`, retakes: null }));
}

function answer(found: number): KeyedAnswer {
  return { rows: rows(found), window: { rows: found }, blockedKeys: [], emptyKeys: [] };
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
      pendingKeys: async () => [],
      claimKeyed: async () => {
        searched += 1;
        return answer(found);
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
        pendingKeys: async () => [],
        claimKeyed: async ({ limit }) => {
          limits.push(limit);
          return answer(1);
        },
      },
      new VirtualClock(),
    );
    await keyed.claimBatch(CLAIM);
    expect(limits).toEqual([LIMIT]);
  });
});
