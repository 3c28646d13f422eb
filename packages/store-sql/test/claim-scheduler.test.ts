import { VirtualClock } from '@postcommit/store-memory';
import { beforeEach, describe, expect, it } from 'vitest';
import type { ClaimAnswer } from '../src/claim/claim-runner.js';
import {
  MIN_SLOW_SEARCH_MS,
  SLOW_SEARCH_FACTOR,
  SLOW_SEARCHES_IN_A_ROW,
  UnkeyedSearch,
} from '../src/claim/claim-scheduler.js';
import { FRONT_SEARCH_INTERVAL_MS, LATE_COMMIT_MS } from '../src/claim/front-search.js';
import type { UnkeyedClaim } from '../src/dialect.js';
import type { SqlRecord } from '../src/sql-statement.js';

const CLAIM = { token: 't', timeoutMs: 1_000, limit: 2, mayRetake: true };
const NOTHING: ClaimAnswer = { rows: [], keyedDue: false };

let clock: VirtualClock;
let asked: UnkeyedClaim[];
/** The rows that each search finds, in turn; then none. */
let answers: SqlRecord[][];
/** What a search from the front takes; one from a place takes no time. */
let frontMs: number;
let unkeyed: UnkeyedSearch;

beforeEach(() => {
  clock = new VirtualClock();
  asked = [];
  answers = [];
  frontMs = 0;
  unkeyed = create();
});

function create(): UnkeyedSearch {
  const claimUnkeyed = async (claim: UnkeyedClaim): Promise<ClaimAnswer> => {
    asked.push(claim);
    if (!claim.after) await clock.advance(frontMs);
    const rows = answers.shift();
    return rows ? { rows, keyedDue: rows[0]?.keyed_due === true } : NOTHING;
  };
  return new UnkeyedSearch({ claimUnkeyed }, clock);
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
  it('the search continues where it ended, to the microsecond', async () => {
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

  it('that position is the last row by due time, in whatever order they were returned', async () => {
    answers = [[row(2, { available_at: 5_000 }), row(9)]];
    await claim();
    await claim();
    expect(asked[1]?.after).toEqual({ availableAt: '5000000', seq: '2' });
  });

  it('a batch that is not full is filled from the front, in the same claim', async () => {
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

  it('if nothing is left, the next search starts at the front', async () => {
    answers = [[row(1), row(2)]];
    for (let i = 0; i < 3; i++) await claim();
    expect(places()).toEqual(['front', '2', 'front', 'front']);
  });

  it('a front that filled up a batch is searched again, as there may be more', async () => {
    answers = [[row(8), row(9)], [row(10)], [row(1)], [row(2), row(3)]];
    for (let i = 0; i < 3; i++) await claim();
    expect(places()).toEqual(['front', '9', 'front', 'front']);
  });

  it('a row edited to the beginning of time does not become the position', async () => {
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
  /** Claims a row every 50 ms. Returns whether each search started at the front. */
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

  it('every search starts at the front if that is fast', async () => {
    frontMs = MIN_SLOW_SEARCH_MS - 1;
    expect(await claimRows(3 * SLOW_SEARCHES_IN_A_ROW)).toEqual(allOf(3 * SLOW_SEARCHES_IN_A_ROW, true));
  });

  it('a front that was slow several times in a row is searched once a second', async () => {
    frontMs = MIN_SLOW_SEARCH_MS;
    expect(await claimRows(SLOW_SEARCHES_IN_A_ROW)).toEqual(allOf(SLOW_SEARCHES_IN_A_ROW, true));
    const isFront = await claimRows(60);
    const fronts = isFront.flatMap((is, index) => (is ? [index] : []));
    expect(fronts).toEqual([19, 39, 59]);
  });

  it('the other searches start slightly before the last row, to find rows that commit slightly late', async () => {
    frontMs = MIN_SLOW_SEARCH_MS;
    await claimRows(SLOW_SEARCHES_IN_A_ROW);
    answers = [[row(7, { available_at: 90_000 })]];
    await claim();
    await claim();
    const microseconds = (90_000 - LATE_COMMIT_MS) * 1_000;
    expect(asked.at(-1)).toMatchObject({ after: { availableAt: String(microseconds), seq: '0' } });
    // It has to report keyed rows even if it finds nothing.
    expect(asked.at(-1)).toMatchObject({ isBacklog: false, mayRetake: false });
  });

  it('they keep their position while they find nothing', async () => {
    frontMs = MIN_SLOW_SEARCH_MS;
    await claimRows(SLOW_SEARCHES_IN_A_ROW);
    answers = [[row(7, { available_at: 90_000 })]];
    for (let i = 0; i < 4; i++) await claim();
    const places = new Set(asked.slice(-3).map(({ after }) => after?.availableAt));
    expect(places).toEqual(new Set([String((90_000 - LATE_COMMIT_MS) * 1_000)]));
  });

  it('a front that has become fast is searched every time again', async () => {
    frontMs = MIN_SLOW_SEARCH_MS;
    await claimRows(SLOW_SEARCHES_IN_A_ROW);
    frontMs = 0;
    await clock.advance(FRONT_SEARCH_INTERVAL_MS);
    expect(await claimRows(5)).toEqual(allOf(5, true));
  });

  it('a distant database is not slow, unless it takes several times its usual time', async () => {
    unkeyed = create();
    frontMs = 5 * MIN_SLOW_SEARCH_MS;
    expect(await claimRows(2 * SLOW_SEARCHES_IN_A_ROW)).toEqual(allOf(2 * SLOW_SEARCHES_IN_A_ROW, true));
    frontMs *= SLOW_SEARCH_FACTOR;
    expect(await claimRows(SLOW_SEARCHES_IN_A_ROW + 5)).toEqual([
      ...allOf(SLOW_SEARCHES_IN_A_ROW, true),
      ...allOf(5, false),
    ]);
  });

  it('slow searches that are not in a row mean nothing', async () => {
    for (let i = 0; i < 3 * SLOW_SEARCHES_IN_A_ROW; i++) {
      frontMs = i % SLOW_SEARCHES_IN_A_ROW === 0 ? 0 : MIN_SLOW_SEARCH_MS;
      expect(await claimRows(1)).toEqual([true]);
    }
  });

  it('nor do those with a full batch: its rows may take the time', async () => {
    frontMs = MIN_SLOW_SEARCH_MS;
    for (let i = 0; i < 2 * SLOW_SEARCHES_IN_A_ROW; i++) {
      answers.push([row(i), row(i + 1)]);
      await clock.advance(FRONT_SEARCH_INTERVAL_MS);
      await claim();
    }
    // The last of these first continues behind them.
    await claim();
    expect(await claimRows(2)).toEqual([true, true]);
  });

  it('a batch that is not full is filled from slightly before its end if the front is slow', async () => {
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
  it('is claimed alone, and the next search starts at the front: its owner may have left more', async () => {
    answers = [[row(5), row(6)], [], [row(1, { retakes: 1 })]];
    await claim();
    expect(await claim()).toEqual(['m1']);
    await claim();
    expect(places()).toEqual(['front', '6', 'front', 'front']);
  });

  it('even if it fills the batch', async () => {
    answers = [[row(1, { retakes: 1 })]];
    await unkeyed.claim({ ...CLAIM, limit: 1 });
    await unkeyed.claim({ ...CLAIM, limit: 1 });
    expect(places()).toEqual(['front', 'front']);
  });
});

it('reports whether rows with a key are due', async () => {
  answers = [[row(1, { keyed_due: true })], [], [row(2), row(3)], [], [row(1, { keyed_due: true })]];
  expect((await unkeyed.claim(CLAIM)).keyedDue).toBe(true);
  expect((await unkeyed.claim(CLAIM)).keyedDue).toBe(false);
  expect((await unkeyed.claim(CLAIM)).keyedDue).toBe(false);
  // Behind a full batch, a search that finds nothing says nothing about them.
  expect((await unkeyed.claim(CLAIM)).keyedDue).toBe(true);
});

it('a failed claim leaves no position behind', async () => {
  answers = [[row(1), row(2)]];
  const claimUnkeyed = async (claim: UnkeyedClaim): Promise<ClaimAnswer> => {
    asked.push(claim);
    if (asked.length === 2) throw new Error('gone');
    return { rows: answers.shift() ?? [], keyedDue: false };
  };
  const broken = new UnkeyedSearch({ claimUnkeyed }, clock);
  await broken.claim(CLAIM);
  await expect(broken.claim(CLAIM)).rejects.toThrow('gone');
  await broken.claim(CLAIM);
  expect(places()).toEqual(['front', '2', 'front']);
});
