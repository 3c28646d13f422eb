import { setTimeout } from 'node:timers/promises';

/** What `work` gives, or undefined when so much time has passed; leaves no timer that keeps the process alive. */
export async function within<T>(ms: number, work: Promise<T>): Promise<T | undefined> {
  const done = new AbortController();
  try {
    return await Promise.race([work, setTimeout(ms, undefined, { signal: done.signal })]);
  } finally {
    done.abort();
  }
}
