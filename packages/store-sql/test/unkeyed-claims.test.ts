import { VirtualClock } from '@postcommit/store-memory';
import { beforeEach, describe, expect, it } from 'vitest';
import {
  FRONT_SEARCH_INTERVAL_MS,
  LATE_COMMIT_MS,
  MIN_SLOW_SEARCH_MS,
  SLOW_SEARCH_FACTOR,
  SLOW_SEARCHES_IN_A_ROW,
  UnkeyedClaims,
} from '../src/claim/unkeyed-claims.js';
import type { UnkeyedClaim } from '../src/dialect.js';
import type { SqlRecord } from '../src/sql-statement.js';

const CLAIM = { token: 't', timeoutMs: 1_000, limit: 2, mayRetake: true };
const NOTHING: SqlRecord = { id: null, keyed_due: false };

let clock: VirtualClock;
let asked: UnkeyedClaim[];
/** What each look brings, in turn; then nothing. */
let answers: SqlRecord[][];
/** What a search from the front takes; one from a place takes no time. */
let frontMs: number;
let unkeyed: UnkeyedClaims;

beforeEach(() => {
  clock = new VirtualClock();
  asked = [];
  answers = [];
  frontMs = 0;
  unkeyed = create();
});

function create(): UnkeyedClaims {
  return new UnkeyedClaims(async (claim) => {
    asked.push(claim);
    if (!claim.after) await clock.advance(frontMs);
    return answers.shift() ?? [NOTHING];
  }, clock);
}

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
      { limit: 2, mayRetake: false, after: { seq: '3' }, isBacklog: true },
      // A retaken row must come alone, and there is one already.
      { limit: 1, mayRetake: false, after: undefined, isBacklog: false },
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
    expect(fronts).toEqual([0, FRONT_SEARCH_INTERVAL_MS, 2 * FRONT_SEARCH_INTERVAL_MS]);
  });
});

describe('while batches are not full', () => {
  /** A row that committed just now. */
  const bring = (seq: number): void => {
    answers.push([row(seq, { created_at: seq * 100 })]);
  };
  /** Claims a row every 50 ms; gives whether each search began at the front. */
  const claimRows = async (count: number): Promise<boolean[]> => {
    const before = asked.length;
    for (let i = 0; i < count; i++) {
      bring(asked.length + 100);
      await claim();
      await clock.advance(50);
    }
    return asked.slice(before).map(({ after }) => after === undefined);
  };
  const allOf = (count: number, value: boolean): boolean[] => Array(count).fill(value);

  // So that what a quick one takes is known.
  beforeEach(() => claimRows(1));

  it('every search begins at a front that is quick', async () => {
    frontMs = MIN_SLOW_SEARCH_MS - 1;
    expect(await claimRows(3 * SLOW_SEARCHES_IN_A_ROW)).toEqual(allOf(3 * SLOW_SEARCHES_IN_A_ROW, true));
  });

  it('a front that was slow some times in a row is searched once a second', async () => {
    frontMs = MIN_SLOW_SEARCH_MS;
    expect(await claimRows(SLOW_SEARCHES_IN_A_ROW)).toEqual(allOf(SLOW_SEARCHES_IN_A_ROW, true));
    const isFront = await claimRows(60);
    const fronts = isFront.flatMap((is, index) => (is ? [index] : []));
    expect(fronts).toEqual([19, 39, 59]);
  });

  it('the others begin a little before the last row, so that one which commits a little late is found', async () => {
    frontMs = MIN_SLOW_SEARCH_MS;
    await claimRows(SLOW_SEARCHES_IN_A_ROW);
    answers = [[row(7, { available_at: 90_000 })]];
    await claim();
    await claim();
    const microseconds = (90_000 - LATE_COMMIT_MS) * 1_000;
    expect(asked.at(-1)).toMatchObject({ after: { availableAt: String(microseconds), seq: '0' } });
    // It has to tell of rows with a key even where it finds nothing.
    expect(asked.at(-1)).toMatchObject({ isBacklog: false, mayRetake: false });
  });

  it('and keep their place while they find nothing', async () => {
    frontMs = MIN_SLOW_SEARCH_MS;
    await claimRows(SLOW_SEARCHES_IN_A_ROW);
    answers = [[row(7, { available_at: 90_000 })]];
    for (let i = 0; i < 4; i++) await claim();
    const places = new Set(asked.slice(-3).map(({ after }) => after?.availableAt));
    expect(places).toEqual(new Set([String((90_000 - LATE_COMMIT_MS) * 1_000)]));
  });

  it('a front that has become quick is searched each time again', async () => {
    frontMs = MIN_SLOW_SEARCH_MS;
    await claimRows(SLOW_SEARCHES_IN_A_ROW);
    frontMs = 0;
    await clock.advance(FRONT_SEARCH_INTERVAL_MS);
    expect(await claimRows(5)).toEqual(allOf(5, true));
  });

  it('a database that is far away is not slow, until it takes several times as long as it can', async () => {
    unkeyed = create();
    frontMs = 5 * MIN_SLOW_SEARCH_MS;
    expect(await claimRows(2 * SLOW_SEARCHES_IN_A_ROW)).toEqual(allOf(2 * SLOW_SEARCHES_IN_A_ROW, true));
    frontMs *= SLOW_SEARCH_FACTOR;
    expect(await claimRows(SLOW_SEARCHES_IN_A_ROW + 5)).toEqual([
      ...allOf(SLOW_SEARCHES_IN_A_ROW, true),
      ...allOf(5, false),
    ]);
  });

  it('slow ones that are not in a row mean nothing', async () => {
    for (let i = 0; i < 3 * SLOW_SEARCHES_IN_A_ROW; i++) {
      frontMs = i % SLOW_SEARCHES_IN_A_ROW === 0 ? 0 : MIN_SLOW_SEARCH_MS;
      expect(await claimRows(1)).toEqual([true]);
    }
  });

  it('nor do those that bring a full batch: their time may be that of its rows', async () => {
    frontMs = MIN_SLOW_SEARCH_MS;
    for (let i = 0; i < 2 * SLOW_SEARCHES_IN_A_ROW; i++) {
      answers.push([row(i), row(i + 1)]);
      await clock.advance(FRONT_SEARCH_INTERVAL_MS);
      await claim();
    }
    // The last one of these goes on behind them first.
    await claim();
    expect(await claimRows(2)).toEqual([true, true]);
  });

  it('what a full batch lacks is looked for a little before its end where the front is slow', async () => {
    frontMs = MIN_SLOW_SEARCH_MS;
    await claimRows(SLOW_SEARCHES_IN_A_ROW);
    answers = [[row(7, { available_at: 90_000 }), row(8, { available_at: 90_000 })], [], [row(6)]];
    await claim();
    expect(await claim()).toEqual(['m6']);
    expect(asked.slice(-2)).toMatchObject([
      { after: { availableAt: '90000000', seq: '8' }, isBacklog: true },
      { after: { availableAt: String((90_000 - LATE_COMMIT_MS) * 1_000), seq: '0' }, isBacklog: false },
    ]);
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
