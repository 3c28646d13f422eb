import { describe, expect, it } from 'vitest';
import { KeyedClaims } from '../src/claim/keyed-claims.js';

const CLAIM = { token: 't', timeoutMs: 1_000, limit: 1_000, mayRetake: true };

/** The places, among `claims`, at which rows with a key come first, if each look brings `found` rows. */
async function turns(found: number, claims: number): Promise<number[]> {
  const records = Array.from({ length: found }, (_, place) => ({ id: `m${place}`, window_rows: 1_000 }));
  const keyed = new KeyedClaims(async () => (found > 0 ? records : [{ id: null, window_rows: 1_000 }]));
  keyed.areDue = true;
  keyed.shareWithUnkeyed = true;
  const theirs: number[] = [];
  for (let claim = 0; claim < claims; claim++) {
    if (!keyed.takeTurn()) continue;
    theirs.push(claim);
    await keyed.claim(CLAIM);
  }
  return theirs;
}

describe('rows with a key, while rows without one fill the batches', () => {
  it('come first every other time where many of them are free', async () => {
    expect(await turns(500, 10)).toEqual([0, 2, 4, 6, 8]);
  });

  it('come first less often where only one key is free: each look costs the others', async () => {
    expect(await turns(100, 14)).toEqual([0, 2, 6, 10]);
  });

  it('are looked for more and more seldom while all are blocked, but never given up', async () => {
    expect(await turns(0, 70)).toEqual([0, 2, 5, 10, 19, 36, 53]);
  });
});

describe('rows with a key alone', () => {
  it('are asked for whole batches at every turn', async () => {
    const limits: number[] = [];
    const keyed = new KeyedClaims(async ({ limit }) => {
      limits.push(limit);
      return [{ id: 'm1', window_rows: 1 }];
    });
    keyed.areDue = true;
    await keyed.claim(CLAIM);
    expect(limits).toEqual([1_000]);
  });
});
