import { VirtualClock } from '@postcommit/store-memory';
import { beforeEach, describe, expect, it } from 'vitest';
import type { UnkeyedClaim } from '../src/dialect.js';
import type { SqlRecord } from '../src/sql-statement.js';
import { FRONT_EVERY_MS, UnkeyedClaims } from '../src/unkeyed-claims.js';

const CLAIM = { token: 't', timeoutMs: 1_000, limit: 2, mayRetake: true };
const NOTHING: SqlRecord = { id: null, keyed_due: false };

let clock: VirtualClock;
let asked: UnkeyedClaim[];
/** What each look brings, in turn; then nothing. */
let answers: SqlRecord[][];
let unkeyed: UnkeyedClaims;

beforeEach(() => {
  clock = new VirtualClock();
  asked = [];
  answers = [];
  unkeyed = new UnkeyedClaims(async (claim) => {
    asked.push(claim);
    return answers.shift() ?? [NOTHING];
  }, clock);
});

const row = (seq: number, fields: SqlRecord = {}): SqlRecord => ({
  id: `m${seq}`,
  seq: String(seq),
  created_at: 1_000.001,
  available_at: null,
  retakes: null,
  keyed_due: null,
  ...fields,
});
const places = (): unknown[] => asked.map(({ after }) => after?.seq ?? 'front');
const claim = async (): Promise<unknown[]> => (await unkeyed.claim(CLAIM)).rows.map(({ id }) => id);

describe('after a full batch', () => {
  it('the search goes on where it ended, to the microsecond', async () => {
    answers = [
      [row(1), row(2)],
      [row(3), row(4)],
    ];
    expect([await claim(), await claim()]).toEqual([
      ['m1', 'm2'],
      ['m3', 'm4'],
    ]);
    expect(asked[1]?.after).toEqual({ availableAt: '1000001', seq: '2' });
  });

  it('that place is that of the last row by due time, in whatever order they came', async () => {
    answers = [[row(2, { available_at: 5_000 }), row(9)]];
    await claim();
    await claim();
    expect(asked[1]?.after).toEqual({ availableAt: '5000000', seq: '2' });
  });

  it('what the next one lacks is looked for at the front, in the same claim', async () => {
    answers = [[row(2), row(3)], [row(4)], [row(1)]];
    await claim();
    expect(await claim()).toEqual(['m4', 'm1']);
    expect(asked.slice(1)).toMatchObject([
      // Expired claims are looked for from the front.
      { limit: 2, mayRetake: false, after: { seq: '3' } },
      // A retaken row must come alone, and there is one already.
      { limit: 1, mayRetake: false, after: undefined },
    ]);
  });

  it('and when nothing is left, the next search is one from the front', async () => {
    answers = [[row(1), row(2)]];
    for (let i = 0; i < 3; i++) await claim();
    expect(places()).toEqual(['front', '2', 'front', 'front']);
  });

  it('a front that filled up the next one is searched again: there may be more', async () => {
    answers = [[row(8), row(9)], [row(10)], [row(1)], [row(2), row(3)]];
    for (let i = 0; i < 3; i++) await claim();
    expect(places()).toEqual(['front', '9', 'front', 'front']);
  });

  it('a row edited to the beginning of time is no place', async () => {
    answers = [[row(1, { available_at: Number.NEGATIVE_INFINITY }), row(2, { available_at: -Infinity })]];
    await claim();
    await claim();
    expect(places()).toEqual(['front', 'front']);
  });
});

describe('while every batch is full', () => {
  it('the front is searched once a second', async () => {
    for (let seq = 1; seq <= 60; seq += 2) answers.push([row(seq), row(seq + 1)]);
    const fronts: number[] = [];
    for (let i = 0; i < 30; i++) {
      const before = asked.length;
      await claim();
      if (asked[before]?.after === undefined) fronts.push(i * 100);
      await clock.advance(100);
    }
    expect(fronts).toEqual([0, FRONT_EVERY_MS, 2 * FRONT_EVERY_MS]);
  });
});

describe('a retaken row', () => {
  it('comes alone, and the next search is one from the front: its owner may have left more', async () => {
    answers = [[row(5), row(6)], [], [row(1, { retakes: 1 })]];
    await claim();
    expect(await claim()).toEqual(['m1']);
    await claim();
    expect(places()).toEqual(['front', '6', 'front', 'front']);
  });

  it('does so too where it fills the batch', async () => {
    answers = [[row(1, { retakes: 1 })]];
    await unkeyed.claim({ ...CLAIM, limit: 1 });
    await unkeyed.claim({ ...CLAIM, limit: 1 });
    expect(places()).toEqual(['front', 'front']);
  });
});

it('tells what it saw of rows with a key', async () => {
  answers = [[row(1, { keyed_due: true })], [NOTHING], [row(2), row(3)], [], [row(1, { keyed_due: true })]];
  expect((await unkeyed.claim(CLAIM)).areKeyedDue).toBe(true);
  expect((await unkeyed.claim(CLAIM)).areKeyedDue).toBe(false);
  expect((await unkeyed.claim(CLAIM)).areKeyedDue).toBe(false);
  // Behind a full batch a search that finds nothing tells nothing.
  expect((await unkeyed.claim(CLAIM)).areKeyedDue).toBe(true);
});

it('a claim that fails leaves no place behind', async () => {
  answers = [[row(1), row(2)]];
  const broken = new UnkeyedClaims(async (claim) => {
    asked.push(claim);
    if (asked.length === 2) throw new Error('gone');
    return answers.shift() ?? [NOTHING];
  }, clock);
  await broken.claim(CLAIM);
  await expect(broken.claim(CLAIM)).rejects.toThrow('gone');
  await broken.claim(CLAIM);
  expect(places()).toEqual(['front', '2', 'front']);
});
