import { describe, expect, it } from 'vitest';
import type { Received } from '../src/brokers/target.js';
import { judge } from '../src/brokers/verdict.js';

const committed = new Map([
  ['a', { key: 'k', number: 1 }],
  ['b', { key: 'k', number: 2 }],
  ['c', { key: undefined, number: 3 }],
]);
const message = (id: string, number: number, key?: string): Received => ({ id, key, number });
const A = message('a', 1, 'k');
const B = message('b', 2, 'k');
const C = message('c', 3);

describe('the verdict on what a broker has received', () => {
  it('finds nothing wrong if all have arrived, rows without a key anywhere and some of them twice', () => {
    expect(judge(committed, [C, A, B, A, C])).toEqual({
      received: 5,
      lost: [],
      phantoms: [],
      outOfOrder: [],
      duplicates: 2,
    });
  });

  it.each([
    ['a message that is missing', [A, B], { lost: ['c'] }],
    ['a message that was never committed', [A, B, C, message('d', 4)], { phantoms: ['d'] }],
    ['another message under a known id', [A, B, message('c', 4)], { phantoms: ['c'] }],
    ['a message that first came after a later one of its key', [B, A, C], { outOfOrder: ['a'] }],
  ])('finds %s', (_what, received, found) => {
    const clean = { lost: [], phantoms: [], outOfOrder: [] };
    expect(judge(committed, received)).toMatchObject({ ...clean, ...found });
  });
});
