import { setTimeout } from 'node:timers/promises';

/** Returns the result of `work`, or undefined after the time-out. Leaves no timer that keeps the process alive. */
export async function within<T>(ms: number, work: Promise<T>): Promise<T | undefined> {
  const done = new AbortController();
  try {
    return await Promise.race([work, setTimeout(ms, undefined, { signal: done.signal })]);
  } finally {
    done.abort();
  }
}
