import { describe, expect, it } from 'vitest';
import { check } from '../src/check.js';
import type { History } from '../src/history.js';
import type { PublishOutcome } from '../src/ledger.js';

/** Two committed orders of one key, each published once, in order: nothing is wrong with it. */
function goodHistory(): {
  -readonly [Part in keyof History]: History[Part] extends readonly (infer Item)[] ? Item[] : Set<string>;
} {
  return {
    orders: new Set(['a', 'b']),
    rows: [row('a'), row('b')],
    intents: [
      { orderId: 'a', key: 'k', producer: 'p', transaction: 'a', fingerprint: 'f', moment: 1 },
      { orderId: 'b', key: 'k', producer: 'p', transaction: 'b', fingerprint: 'f', moment: 3 },
    ],
    commits: [
      { orderId: 'a', how: 'answered', moment: 2 },
      { orderId: 'b', how: 'answered', moment: 4 },
    ],
    claims: [claim('a', 't1', 5), claim('b', 't1', 6)],
    publishes: [publish('a', 't1', 7), publish('b', 't1', 8)],
    settles: [
      { rowId: 'row-a', token: 't1', process: 'w1', moment: 9 },
      { rowId: 'row-b', token: 't1', process: 'w1', moment: 10 },
    ],
    operations: [],
    faults: [],
  };
}

function row(order: string): History['rows'][number] {
  return { id: `row-${order}`, orderId: order, state: 'dispatched', reason: null, attempts: 0 };
}

function claim(order: string, token: string, moment: number, retakes = 0): History['claims'][number] {
  return { rowId: `row-${order}`, token, process: processOf(token), retakes, moment };
}

function publish(
  order: string,
  token: string,
  moment: number,
  outcome: PublishOutcome = 'delivered',
): History['publishes'][number] {
  const record = { rowId: `row-${order}`, orderId: order, token, process: processOf(token) };
  return { ...record, attempt: 1, outcome, fingerprint: 'f', moment };
}

/** The token `t2` belongs to the worker `w2`. */
function processOf(token: string): string {
  return token.replace('t', 'w');
}

it('accepts a correct history', () => {
  const verdict = { messages: 2, lost: 0, phantom: 0, outOfOrder: 0, duplicates: 0, broken: [] };
  expect(check(goodHistory())).toEqual(verdict);
});

describe('lost is', () => {
  it('a row dispatched in the table that never reached the receiver', () => {
    const history = goodHistory();
    history.publishes.pop();
    expect(check(history)).toMatchObject({ lost: 1, broken: [expect.stringMatching(/^I2.*\(b\)/)] });
  });

  it('a row that every attempt failed to deliver', () => {
    const history = goodHistory();
    history.publishes[1] = publish('b', 't1', 8, 'failed');
    expect(check(history).lost).toBe(1);
  });

  it('a row still pending at the end, published or not', () => {
    const history = goodHistory();
    history.rows[1] = { ...row('b'), state: 'pending' };
    expect(check(history).lost).toBe(1);
  });

  it('an order without a row, unless a sweep deleted it after its publish', () => {
    const history = goodHistory();
    history.rows.pop();
    expect(check(history).lost).toBe(1);
    expect(check(history, { isSwept: true }).lost).toBe(0);
    history.publishes.pop();
    expect(check(history, { isSwept: true }).lost).toBe(1);
  });

  it('an acknowledged commit that is not in the business table', () => {
    const history = goodHistory();
    history.orders.delete('b');
    history.rows.pop();
    history.publishes.pop();
    expect(check(history).lost).toBe(1);
  });

  it('not a row that is dead for an allowed reason', () => {
    const history = goodHistory();
    history.publishes.pop();
    history.rows[1] = { ...row('b'), state: 'dead', reason: 'exhausted' };
    expect(check(history, { deadReasons: ['exhausted'] })).toMatchObject({ lost: 0, broken: [] });
    expect(check(history).broken).toEqual([expect.stringContaining('dead without a cause')]);
  });
});

describe('phantom is', () => {
  it('a publish without a committed order', () => {
    const history = goodHistory();
    history.publishes.push(publish('c', 't1', 11));
    expect(check(history)).toMatchObject({ phantom: 1, broken: [expect.stringMatching(/^I1.*\(c\)/)] });
  });

  it('a row without a committed order, even if it is not yet published', () => {
    const history = goodHistory();
    history.rows.push({ ...row('c'), state: 'pending' });
    expect(check(history).phantom).toBe(1);
  });
});

it('a second row of the same commit is reported', () => {
  const history = goodHistory();
  history.rows.push({ ...row('b'), id: 'row-b2' });
  expect(check(history).broken).toEqual([expect.stringContaining('more than one row')]);
});

describe('out of order is', () => {
  function swapped(): ReturnType<typeof goodHistory> {
    const history = goodHistory();
    history.publishes = [publish('b', 't1', 7), publish('a', 't1', 8)];
    return history;
  }

  it('a message published after one that began after its commit', () => {
    expect(check(swapped())).toMatchObject({ outOfOrder: 1, broken: [expect.stringMatching(/^I5.*\(a\)/)] });
  });

  it('not a message that overlapped, has another key, or is dead', () => {
    const overlapping = swapped();
    overlapping.commits[0] = { orderId: 'a', how: 'found', moment: 3.5 };
    expect(check(overlapping).outOfOrder).toBe(0);
    const unknownEnd = swapped();
    unknownEnd.commits.shift();
    expect(check(unknownEnd).outOfOrder).toBe(0);
    const strangers = swapped();
    strangers.intents = strangers.intents.map((intent) => ({ ...intent, key: intent.orderId }));
    expect(check(strangers).outOfOrder).toBe(0);
    const dead = swapped();
    dead.rows[0] = { ...row('a'), state: 'dead', reason: 'exhausted' };
    expect(check(dead).outOfOrder).toBe(0);
  });

  it('also a message published before an earlier one of its transaction', () => {
    const history = swapped();
    history.intents = history.intents.map((intent) => ({ ...intent, transaction: 'a' }));
    history.commits = history.commits.map((commit) => ({ ...commit, moment: 4 }));
    expect(check(history).outOfOrder).toBe(1);
  });

  it('decided by the first publish of each', () => {
    const history = goodHistory();
    history.publishes.push(publish('a', 't2', 11));
    expect(check(history).outOfOrder).toBe(0);
  });
});

describe('a duplicate needs a cause', () => {
  function repeated(retakes = 0): ReturnType<typeof goodHistory> {
    const history = goodHistory();
    history.settles = [];
    history.claims.push(claim('a', 't2', 20, retakes));
    history.publishes.push(publish('a', 't2', 21));
    return history;
  }

  function brokenBy(history: History): readonly string[] {
    expect(check(history).duplicates).toBe(1);
    return check(history).broken;
  }

  const fault = (process: string | null, began: number, ended = began): History['faults'][number] => ({
    what: 'SIGKILL',
    process,
    began,
    ended,
  });

  it('without one it is a violation', () => {
    expect(brokenBy(repeated())).toEqual([expect.stringMatching(/^I6.*row-a/)]);
  });

  it('a crash of the process that had claimed it is one, or of all of them', () => {
    expect(brokenBy({ ...repeated(), faults: [fault('w1', 9)] })).toEqual([]);
    expect(brokenBy({ ...repeated(), faults: [fault(null, 9)] })).toEqual([]);
  });

  it('a crash of another process is not', () => {
    expect(brokenBy({ ...repeated(), faults: [fault('w3', 9)] })).toHaveLength(1);
  });

  it('a crash before the claim, or after the answer to its settle, is not', () => {
    expect(brokenBy({ ...repeated(), faults: [fault('w1', 4)] })).toHaveLength(1);
    const settled = { rowId: 'row-a', token: 't1', process: 'w1', moment: 9 };
    expect(brokenBy({ ...repeated(), settles: [settled], faults: [fault('w1', 12)] })).toHaveLength(1);
  });

  it('an expired claim is one, even if the retaken row was released', () => {
    expect(brokenBy(repeated(1))).toEqual([]);
    const givenBack = repeated();
    givenBack.claims.push(claim('a', 't3', 15, 1));
    expect(brokenBy(givenBack)).toEqual([]);
  });

  it('a claim that expired before, or later, is not', () => {
    const history = repeated();
    history.claims.push(claim('a', 't3', 4, 1), claim('a', 't4', 30, 1));
    expect(brokenBy(history)).toHaveLength(1);
  });

  it('also for a process that stalled and published last', () => {
    const history = { ...repeated(), faults: [fault('w1', 6, 22)] };
    history.publishes = [publish('a', 't2', 21), publish('a', 't1', 23), publish('b', 't1', 24)];
    expect(check(history)).toMatchObject({ duplicates: 1, broken: [] });
  });

  it('an operator who requeued it, or a publisher that reported the opposite, is one', () => {
    const putBack = { rowId: 'row-a', what: 'requeue', moment: 15 };
    expect(brokenBy({ ...repeated(), operations: [putBack] })).toEqual([]);
    const untruthful = repeated();
    untruthful.publishes[0] = publish('a', 't1', 7, 'delivered, then failed');
    expect(brokenBy(untruthful)).toEqual([]);
  });

  it('if no duplicate is allowed, a crash is no excuse', () => {
    const history = { ...repeated(1), faults: [fault('w1', 9)] };
    expect(check(history, { duplicates: 'none' }).broken).toHaveLength(1);
  });
});

it('more attempts than the limit are reported', () => {
  const history = goodHistory();
  history.publishes.push(...[11, 12, 13].map((moment) => publish('b', 't1', moment, 'failed')));
  expect(check(history, { maxAttempts: 3 }).broken).toEqual([]);
  expect(check(history, { maxAttempts: 2 }).broken).toEqual([expect.stringMatching(/^I8.*row-b/)]);
});

it('unexpected content is reported', () => {
  const history = goodHistory();
  history.publishes[1] = { ...publish('b', 't1', 8), fingerprint: 'g' };
  expect(check(history).broken).toEqual([expect.stringContaining('another content')]);
});
