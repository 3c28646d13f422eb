import { expect, it } from 'vitest';
import { Publications } from '../src/publications.js';
import { BESIDE } from '../src/subject.js';

it('counts each order once, and duplicates separately', () => {
  const published = new Publications();
  published.add([{ at: 5, orders: [1, 2] }]);
  published.add([{ at: 7, orders: [2, 3] }]);
  expect(published).toMatchObject({ count: 3, repeats: 1, firstAt: 5 });
  expect(published.arrival(2)).toBe(5);
});

it('does not count rows of the backlog', () => {
  const published = new Publications();
  published.add([{ at: 1, orders: [BESIDE, BESIDE + 1] }]);
  expect(published.count).toBe(0);
});

it('resolves after that many orders, not that many reports', async () => {
  const published = new Publications();
  let isTold = false;
  const told = published.until(2).then(() => {
    isTold = true;
  });
  published.add([{ at: 1, orders: [1] }]);
  published.add([{ at: 2, orders: [1] }]);
  await Promise.resolve();
  expect(isTold).toBe(false);
  published.add([{ at: 3, orders: [2] }]);
  await told;
});
