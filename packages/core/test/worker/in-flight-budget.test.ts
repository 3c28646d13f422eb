import { describe, expect, test } from 'vitest';
import type { OutboxRow } from '../../src/message/outbox-row.js';
import { InFlightBudget } from '../../src/worker/in-flight-budget.js';
import { rowWith } from '../outbox-fixture.js';

function rowsOf(count: number, payload: unknown): OutboxRow[] {
  return Array.from({ length: count }, (_, index) => rowWith({ id: `x${index}`, payload }));
}

function addAndRemove(budget: InFlightBudget, rows: OutboxRow[]): void {
  budget.add(rows);
  budget.remove(rows);
}

/** Lets the average converge to the weight of such rows. */
function used(budget: InFlightBudget, payload: unknown): void {
  for (let batch = 0; batch < 50; batch++) addAndRemove(budget, rowsOf(1, payload));
}

describe('InFlightBudget', () => {
  test('has room for all requested rows while the budget allows it', () => {
    const budget = new InFlightBudget(64 * 1024 * 1024);
    expect(budget.room(50)).toBe(50);
    expect(budget.room(1_000)).toBe(1_000);
    expect(budget.room(10_000)).toBe(1_024);
  });

  test('requests fewer rows after large ones', () => {
    const budget = new InFlightBudget(1_000_000);
    used(budget, 'x'.repeat(100_000));
    expect(budget.room(50)).toBe(10);
  });

  test('requests more rows again after small ones', () => {
    const budget = new InFlightBudget(1_000_500);
    expect(budget.room(1_000)).toBe(15);
    used(budget, 'x'.repeat(1_000));
    expect(budget.room(1_000)).toBe(1_000);
  });

  test('one batch moves the average halfway', () => {
    const budget = new InFlightBudget(1_000_500);
    used(budget, 'x'.repeat(1_000));
    addAndRemove(budget, rowsOf(10, 'x'.repeat(9_000)));
    expect(budget.room(1_000)).toBe(200);
  });

  test('counts what is in flight until it is removed', () => {
    const budget = new InFlightBudget(1_000_000);
    used(budget, 'x'.repeat(100_000));
    const rows = rowsOf(7, 'x'.repeat(100_000));
    budget.add(rows);
    expect(budget.room(50)).toBe(3);
    budget.remove(rows);
    expect(budget.room(50)).toBe(10);
  });

  test('has no room if it is used up', () => {
    const budget = new InFlightBudget(1_000);
    const rows = rowsOf(1, 'x'.repeat(1_000));
    budget.add(rows);
    expect(budget.room(50)).toBe(0);
    budget.remove(rows);
    expect(budget.room(50)).toBe(1);
  });

  test('always has room for one row, however large, while anything is left', () => {
    const budget = new InFlightBudget(1_000);
    const rows = rowsOf(1, 'x'.repeat(999));
    budget.add(rows);
    used(budget, 'x'.repeat(1_000_000));
    expect(budget.room(50)).toBe(1);
    budget.remove(rows);
  });

  test.each<[string, unknown, number]>([
    ['text', 'x'.repeat(1_000), 1_000],
    ['a number', 5, 8],
    ['null', null, 8],
    ['nothing, as in a row that can not be read', undefined, 8],
    ['an object with its names', { name: 'x'.repeat(100) }, 120],
    ['a list', [1, 2, 3], 43],
    ['what is nested', { a: { b: ['x'.repeat(50)] } }, 101],
    ['an empty text, which is taken for one byte', '', 1],
  ])('weighs %s', (_name, payload, bytes) => {
    const budget = new InFlightBudget(bytes * 1_000.5);
    used(budget, payload);
    expect(budget.room(10_000)).toBe(1_000);
  });
});
