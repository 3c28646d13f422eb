import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { systemClock } from '../../src/runtime/timing.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('the system clock calls back after the delay', () => {
  const callback = vi.fn();
  const before = systemClock.monotonicMs();
  systemClock.schedule(1_000, callback);
  vi.advanceTimersByTime(999);
  expect(callback).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1);
  expect(callback).toHaveBeenCalledOnce();
  expect(systemClock.monotonicMs() - before).toBe(1_000);
});

test('a cancelled timer never calls back', () => {
  const callback = vi.fn();
  const cancel = systemClock.schedule(1_000, callback);
  cancel();
  vi.advanceTimersByTime(5_000);
  expect(callback).not.toHaveBeenCalled();
  expect(vi.getTimerCount()).toBe(0);
});
