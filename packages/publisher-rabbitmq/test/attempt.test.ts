import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Attempt } from '../src/attempt.js';

const never = new Promise<never>(() => {});
const bounds = {
  signal: new AbortController().signal,
  stopped: new AbortController().signal,
  timeoutMs: 1_000,
};

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

it('ends when nothing has happened for its time, however long it takes as a whole', async () => {
  const attempt = new Attempt(bounds);
  let error: unknown;
  attempt.within(never).catch((reason) => {
    error = reason;
  });
  for (let times = 0; times < 5; times++) {
    await vi.advanceTimersByTimeAsync(900);
    attempt.progressed();
  }
  expect(error).toBeUndefined();
  await vi.advanceTimersByTimeAsync(999);
  expect(error).toBeUndefined();
  await vi.advanceTimersByTimeAsync(2);
  expect(error).toMatchObject({ unavailable: true, isCertain: false });
  attempt.end();
  expect(vi.getTimerCount()).toBe(0);
});

it('ends with the reason of its signal', async () => {
  const giveUp = new AbortController();
  const attempt = new Attempt({ ...bounds, signal: giveUp.signal });
  const waiting = attempt.within(never);
  giveUp.abort(new Error('given up'));
  await expect(waiting).rejects.toThrow('given up');
  attempt.end();
});
