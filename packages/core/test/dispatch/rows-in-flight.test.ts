import { describe, expect, test } from 'vitest';
import { BatchQueue, RowInFlight } from '../../src/dispatch/rows-in-flight.js';
import type { Outcome } from '../../src/message/outcome.js';
import { rowWith } from '../outbox-fixture.js';

/** `A1` has the key A, `x1` has none. */
function rowsOf(...ids: string[]): RowInFlight[] {
  return ids.map(
    (id) => new RowInFlight(rowWith({ id, ...(!id.startsWith('x') && { key: id.slice(0, 1) }) })),
  );
}

function open(...ids: string[]): { queue: BatchQueue; row: (id: string) => RowInFlight } {
  const rows = rowsOf(...ids);
  const row = (id: string): RowInFlight => {
    const found = rows.find((one) => one.id === id);
    if (!found) throw new Error(`no row ${id}`);
    return found;
  };
  return { queue: new BatchQueue(rows), row };
}

function idsOf(rows: readonly RowInFlight[]): string[] {
  return rows.map(({ id }) => id);
}

function takeAll(queue: BatchQueue): string[] {
  const taken: string[] = [];
  for (let row = queue.take(); row; row = queue.take()) taken.push(row.id);
  return taken;
}

const OUTCOMES: Record<Outcome['kind'], Outcome> = {
  dispatched: { id: 'any', kind: 'dispatched' },
  failed: { id: 'any', kind: 'failed', error: 'no', delayMs: 0 },
  dead: { id: 'any', kind: 'dead', error: 'no', reason: 'permanent' },
  released: { id: 'any', kind: 'released' },
};

const everyRow = (): boolean => true;

describe('BatchQueue.take', () => {
  test('returns unkeyed rows in order, up to the limit', () => {
    expect(takeAll(open('x1', 'x2', 'x3').queue)).toEqual(['x1', 'x2', 'x3']);
  });

  test('skips the rows of a key that is being published', () => {
    const { queue, row } = open('A1', 'A2', 'B1', 'x1', 'B2');
    expect(takeAll(queue)).toEqual(['A1', 'B1', 'x1']);
    queue.ended(row('B1'), OUTCOMES.dispatched);
    expect(takeAll(queue)).toEqual(['B2']);
    queue.ended(row('A1'), OUTCOMES.dispatched);
    expect(takeAll(queue)).toEqual(['A2']);
  });

  test.each([
    ['dispatched', false],
    ['dead', false],
    ['failed', true],
    ['released', true],
  ] as const)(
    'after a row ended %s, whether it holds back the later rows of its key is %s',
    (kind, isHeldBack) => {
      const { queue, row } = open('A1', 'A2', 'B1', 'x1', 'x2');
      takeAll(queue);
      queue.ended(row('A1'), OUTCOMES[kind]);
      queue.ended(row('x1'), OUTCOMES[kind]);
      expect(queue.isHeldBack(row('A2'))).toBe(isHeldBack);
      expect(queue.isHeldBack(row('B1'))).toBe(false);
      expect(queue.isHeldBack(row('x2'))).toBe(false);
      // It is still returned, so that the caller can release it.
      expect(takeAll(queue)).toEqual(['A2']);
    },
  );
});

describe('BatchQueue.takeGroup', () => {
  test('takes every row that may start, including several of one key', () => {
    const { queue } = open('A1', 'x1', 'A2', 'B1', 'A3', 'B2');
    const first = queue.take() as RowInFlight;
    expect(idsOf(queue.takeGroup(first, everyRow))).toEqual(['A1', 'x1', 'A2', 'B1', 'A3', 'B2']);
    expect(queue.take()).toBeUndefined();
  });

  test('leaves the rows of a key that is published elsewhere', () => {
    const { queue, row } = open('A1', 'B1', 'A2', 'x1', 'B2');
    queue.take();
    const second = queue.take() as RowInFlight;
    expect(second.id).toBe('B1');
    expect(idsOf(queue.takeGroup(second, everyRow))).toEqual(['B1', 'x1', 'B2']);
    queue.ended(row('A1'), OUTCOMES.dispatched);
    expect(takeAll(queue)).toEqual(['A2']);
  });

  test('leaves rows of other routes, and the rows behind them in their keys', () => {
    const { queue, row } = open('A1', 'A2', 'A3', 'x1', 'x2', 'B1', 'B2');
    const elsewhere = new Set(['A2', 'x1', 'B1']);
    const first = queue.take() as RowInFlight;
    expect(idsOf(queue.takeGroup(first, ({ id }) => !elsewhere.has(id)))).toEqual(['A1', 'x2']);
    expect(takeAll(queue)).toEqual(['x1', 'B1']);
    queue.ended(row('A1'), OUTCOMES.dispatched);
    expect(takeAll(queue)).toEqual(['A2']);
  });

  test('a key is free only when all of its rows have ended', () => {
    const { queue, row } = open('A1', 'A2', 'A3', 'A4');
    const first = queue.take() as RowInFlight;
    expect(idsOf(queue.takeGroup(first, ({ id }) => id < 'A4'))).toEqual(['A1', 'A2', 'A3']);
    queue.ended(row('A1'), OUTCOMES.dispatched);
    queue.ended(row('A2'), OUTCOMES.dispatched);
    expect(queue.take()).toBeUndefined();
    queue.ended(row('A3'), OUTCOMES.dispatched);
    expect(takeAll(queue)).toEqual(['A4']);
  });

  test('is a single row if no other can join', () => {
    const { queue } = open('x1', 'x2');
    const first = queue.take() as RowInFlight;
    expect(idsOf(queue.takeGroup(first, () => false))).toEqual(['x1']);
    expect(takeAll(queue)).toEqual(['x2']);
  });
});

describe('BatchQueue.clear', () => {
  test('returns the rows that have not started, once, and nothing starts after it', () => {
    const { queue } = open('x1', 'A1', 'A2');
    queue.take();
    expect(idsOf(queue.clear('returning'))).toEqual(['A1', 'A2']);
    expect(queue.take()).toBeUndefined();
    expect(queue.clear('returning')).toEqual([]);
  });

  test('a row that never started ends like any other: it holds back the rest of its key', () => {
    const { queue, row } = open('A1', 'A2');
    queue.clear('returning');
    queue.ended(row('A1'), OUTCOMES.released);
    expect(queue.isHeldBack(row('A2'))).toBe(true);
  });
});
