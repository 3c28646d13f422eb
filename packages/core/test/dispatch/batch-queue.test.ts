import { describe, expect, test } from 'vitest';
import { BatchQueue } from '../../src/dispatch/batch-queue.js';
import { RowInFlight } from '../../src/dispatch/row-in-flight.js';
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
  test('gives rows without a key in order, as many as asked for', () => {
    expect(takeAll(open('x1', 'x2', 'x3').queue)).toEqual(['x1', 'x2', 'x3']);
  });

  test('passes over the rows of a key that is being published', () => {
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
  ] as const)('after a row that ended %s, holding back its followers is %s', (kind, isHeldBack) => {
    const { queue, row } = open('A1', 'A2', 'B1', 'x1', 'x2');
    takeAll(queue);
    queue.ended(row('A1'), OUTCOMES[kind]);
    queue.ended(row('x1'), OUTCOMES[kind]);
    expect(queue.isHeldBack(row('A2'))).toBe(isHeldBack);
    expect(queue.isHeldBack(row('B1'))).toBe(false);
    expect(queue.isHeldBack(row('x2'))).toBe(false);
    // It is still given out, so that whoever takes it can give it back.
    expect(takeAll(queue)).toEqual(['A2']);
  });
});

describe('BatchQueue.takeGroup', () => {
  test('takes every row that may start, rows of one key together', () => {
    const { queue } = open('A1', 'x1', 'A2', 'B1', 'A3', 'B2');
    const first = queue.take() as RowInFlight;
    expect(idsOf(queue.takeGroup(first, everyRow))).toEqual(['A1', 'x1', 'A2', 'B1', 'A3', 'B2']);
    expect(queue.take()).toBeUndefined();
  });

  test('leaves the rows of a key that somebody else publishes', () => {
    const { queue, row } = open('A1', 'B1', 'A2', 'x1', 'B2');
    queue.take();
    const second = queue.take() as RowInFlight;
    expect(second.id).toBe('B1');
    expect(idsOf(queue.takeGroup(second, everyRow))).toEqual(['B1', 'x1', 'B2']);
    queue.ended(row('A1'), OUTCOMES.dispatched);
    expect(takeAll(queue)).toEqual(['A2']);
  });

  test('leaves rows that go elsewhere, and those of their keys behind them', () => {
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

  test('goes out alone where nothing goes along', () => {
    const { queue } = open('x1', 'x2');
    const first = queue.take() as RowInFlight;
    expect(idsOf(queue.takeGroup(first, () => false))).toEqual(['x1']);
    expect(takeAll(queue)).toEqual(['x2']);
  });
});

describe('BatchQueue.clear', () => {
  test('gives what has not started, once, and nothing starts after it', () => {
    const { queue } = open('x1', 'A1', 'A2');
    queue.take();
    expect(idsOf(queue.clear('returning'))).toEqual(['A1', 'A2']);
    expect(queue.take()).toBeUndefined();
    expect(queue.clear('returning')).toEqual([]);
  });

  test('what never started ends like any other row: those of its key are held back', () => {
    const { queue, row } = open('A1', 'A2');
    queue.clear('returning');
    queue.ended(row('A1'), OUTCOMES.released);
    expect(queue.isHeldBack(row('A2'))).toBe(true);
  });
});
