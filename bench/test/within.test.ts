import { expect, it } from 'vitest';
import { within } from '../src/within.js';

it('returns the result of the work', async () => {
  expect(await within(60_000, Promise.resolve(7))).toBe(7);
});

it('returns nothing if the time is over first', async () => {
  expect(await within(1, new Promise(() => {}))).toBeUndefined();
});

it('fails with the error of the work, and leaves no timer', async () => {
  const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
  const before = timers();
  await expect(within(60_000, Promise.reject(new Error('lost')))).rejects.toThrow('lost');
  expect(timers()).toBe(before);
});
