import { describe, expect, test } from 'vitest';

import type { EndedRow } from '../../src/dispatch/rows-in-flight.js';
import {
  emitOutcomes,
  type SettleTarget,
  settleBatch,
  settlePublished,
  stillOurs,
  summarise,
} from '../../src/dispatch/settle-batch.js';
import type { OutboxRow } from '../../src/message/outbox-row.js';
import type { Outcome } from '../../src/message/outcome.js';
import { DispatchEvents } from '../../src/observe/dispatch-events.js';
import { StoreCalls } from '../../src/runtime/store-calls.js';
import { type CountingClock, entries, FaultyStore, listen, openOutbox, rowWith } from '../outbox-fixture.js';

interface Claimed {
  readonly clock: CountingClock;
  readonly store: FaultyStore;
  readonly target: SettleTarget;
}

async function claimed(...ids: string[]): Promise<Claimed> {
  const { clock, store } = openOutbox({}, (options, virtual) => new FaultyStore(options, virtual));
  await store.enqueue(entries(...ids));
  const [row] = await store.fetchPending(ids.length);
  const events = new DispatchEvents();
  const target = {
    store,
    token: row?.claimToken ?? '',
    calls: new StoreCalls(clock, store.claimTimeoutMs),
    clock,
    events,
  };
  return { clock, store, target };
}

function dispatched(id: string): EndedRow {
  return { row: rowWith({ id }), outcome: { id, kind: 'dispatched' } };
}

function failed(id: string, row: Partial<OutboxRow> = {}): EndedRow {
  return { row: rowWith({ id, ...row }), outcome: { id, kind: 'failed', error: `${id} failed`, delayMs: 7 } };
}

function dead(id: string, row: Partial<OutboxRow> = {}): EndedRow {
  return { row: rowWith({ id, ...row }), outcome: { id, kind: 'dead', error: 'never', reason: 'permanent' } };
}

function released(id: string): EndedRow {
  return { row: rowWith({ id }), outcome: { id, kind: 'released' } };
}

const forEver = (): number => Number.POSITIVE_INFINITY;
const away = (): Promise<void> => Promise.reject(new Error('database is away'));

describe('settleBatch', () => {
  test('records every outcome in one call and returns the ids that were still owned', async () => {
    const { store, target } = await claimed('x1', 'x2', 'x3');
    await store.requeue('x2');
    const ended = [dispatched('x1'), dispatched('x2'), failed('x3')];
    expect(await settleBatch(target, ended, forEver)).toEqual(['x1', 'x3']);
    expect(store.timesOf('settle')).toHaveLength(1);
  });

  test('is retried with delays that double up to two seconds, and reports each', async () => {
    const { clock, store, target } = await claimed('x1');
    const heard = listen(target.events, 'trouble');
    store.before.settle = away;
    const settling = settleBatch(target, [dispatched('x1')], forEver);
    await clock.advance(7_150);
    expect(store.timesOf('settle')).toEqual([0, 50, 150, 350, 750, 1_550, 3_150, 5_150, 7_150]);
    expect(heard.map(({ told }) => told.retryInMs)).toEqual([
      50, 100, 200, 400, 800, 1_600, 2_000, 2_000, 2_000,
    ]);
    expect(heard[0]?.told.error).toEqual(new Error('database is away'));
    store.comeBack();
    await clock.advance(2_000);
    expect(await settling).toEqual(['x1']);
  });

  test('is not retried if time runs out before the next attempt', async () => {
    const { clock, store, target } = await claimed('x1');
    store.before.settle = away;
    const settling = settleBatch(target, [dispatched('x1')], () => 150 - clock.monotonicMs());
    const refused = expect(settling).rejects.toThrow('database is away');
    await clock.advance(1_000);
    await refused;
    expect(store.timesOf('settle')).toEqual([0, 50]);
  });
});

describe('settlePublished', () => {
  test('records published rows if the whole batch can’t be recorded', async () => {
    const { store, target } = await claimed('x1', 'x2', 'x3');
    store.before.settle = (outcomes: readonly Outcome[]) =>
      outcomes.some(({ kind }) => kind === 'failed')
        ? Promise.reject(new Error('column is too short'))
        : undefined;
    const ended = [dispatched('x1'), failed('x2'), released('x3')];
    expect(await settlePublished(target, ended)).toEqual(['x1']);
    expect(await store.count()).toMatchObject({ dispatched: 1, pending: 2 });
  });

  test('never rejects: the first error is the one to report', async () => {
    const { store, target } = await claimed('x1', 'x2');
    store.before.settle = away;
    expect(await settlePublished(target, [dispatched('x1'), failed('x2')])).toEqual([]);
  });

  test.each([
    ['only what was published', [dispatched('x1'), dispatched('x2')]],
    ['nothing that was published', [failed('x1'), released('x2')]],
  ])('is not tried for %s: it would be the same settle, or empty', async (_name, ended) => {
    const { store, target } = await claimed('x1', 'x2');
    expect(await settlePublished(target, ended)).toEqual([]);
    expect(store.timesOf('settle')).toEqual([]);
  });
});

describe('summarise', () => {
  test('counts what is in the table: fenced rows count as nothing else', () => {
    const ended = [
      dispatched('x1'),
      dispatched('x2'),
      failed('x3'),
      dead('x4'),
      released('x5'),
      failed('x6'),
    ];
    expect(summarise(9, ended, stillOurs(ended, ['x1', 'x3', 'x4', 'x5']))).toEqual({
      fetched: 9,
      dispatched: 1,
      failed: 1,
      dead: 1,
      fenced: 2,
    });
  });
});

describe('emitOutcomes', () => {
  function told(ended: readonly EndedRow[], settled: readonly string[]): unknown[] {
    const events = new DispatchEvents();
    const heard = listen(events, 'failed', 'firstFailure', 'dead', 'fenced');
    emitOutcomes(events, ended, stillOurs(ended, settled));
    return heard.map(({ signal, told: what }) => [
      signal,
      'row' in what ? { ...what, row: what.row.id } : what,
    ]);
  }

  test('emits nothing for rows that were dispatched or released', () => {
    expect(told([dispatched('x1'), released('x2')], ['x1', 'x2'])).toEqual([]);
  });

  test('emits failures with their delay, and a separate event for the first of a row', () => {
    expect(told([failed('x1'), failed('x2', { attempts: 1 })], ['x1', 'x2'])).toEqual([
      ['failed', { row: 'x1', error: 'x1 failed', delayMs: 7 }],
      ['firstFailure', { row: 'x1', error: 'x1 failed', willRetry: true, delayMs: 7 }],
      ['failed', { row: 'x2', error: 'x2 failed', delayMs: 7 }],
    ]);
  });

  test('emits dead rows with their reason', () => {
    expect(told([dead('x1', { attempts: 3 })], ['x1'])).toEqual([
      ['dead', { row: 'x1', error: 'never', reason: 'permanent' }],
    ]);
  });

  test('emits a first failure that is also the last', () => {
    expect(told([dead('x1')], ['x1'])).toEqual([
      ['dead', { row: 'x1', error: 'never', reason: 'permanent' }],
      ['firstFailure', { row: 'x1', error: 'never', willRetry: false }],
    ]);
  });

  test('emits no first failure for a row that died without an attempt', () => {
    const { row } = dead('x1');
    const outcome = { id: 'x1', kind: 'dead', untried: true, error: 'odd', reason: 'undecodable' } as const;
    expect(told([{ row, outcome }], ['x1'])).toEqual([
      ['dead', { row: 'x1', error: 'odd', reason: 'undecodable' }],
    ]);
  });

  test('emits the row as it is after the outcome, without its claim', () => {
    const events = new DispatchEvents();
    const heard = listen(events, 'failed', 'firstFailure', 'dead');
    const claim = { claimToken: 'mine', retakes: 2 };
    const ended = [failed('x1', { ...claim, attempts: 4 }), dead('x2', { ...claim, lastError: 'before' })];
    const before = Date.now();
    emitOutcomes(events, ended, () => true);
    const rows = heard.map(({ signal, told: what }) => [signal, 'row' in what && what.row]);
    const deadRow = {
      ...rowWith({ id: 'x2', attempts: 1, lastError: 'never', deadReason: 'permanent' }),
      deadAt: expect.any(Date),
    };
    expect(rows).toEqual([
      [
        'failed',
        { ...rowWith({ id: 'x1', attempts: 5, lastError: 'x1 failed' }), availableAt: expect.any(Date) },
      ],
      ['dead', deadRow],
      ['firstFailure', deadRow],
    ]);
    const [x1, x2] = heard.flatMap(({ told: what }) => ('row' in what ? [what.row] : []));
    expect(x1?.availableAt.getTime()).toBeGreaterThanOrEqual(before + 7);
    expect(x2?.deadAt?.getTime()).toBeGreaterThanOrEqual(before);
  });

  test('emits all fenced rows in one event, and nothing else about them', () => {
    expect(told([failed('x1'), dead('x2'), dispatched('x3'), released('x4')], [])).toEqual([
      ['fenced', { ids: ['x1', 'x2', 'x3', 'x4'] }],
    ]);
  });
});
