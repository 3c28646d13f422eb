import { setTimeout as delay } from 'node:timers/promises';

/** The time-outs of a publisher under test are at most 2 seconds. This is for machines that are busy. */
export const DEFAULT_PATIENCE_MS = 10_000;
/** How long is watched for what must not happen. */
const QUIET_MS = 500;
const POLL_MS = 10;

/** Asks again and again until the answer is defined, and returns it. Throws with the text of `problem` if that takes too long. */
export async function until<T>(
  ask: () => T | undefined | Promise<T | undefined>,
  problem: () => string,
  patienceMs: number,
): Promise<T> {
  const deadline = performance.now() + patienceMs;
  for (;;) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    if (performance.now() > deadline) throw new Error(`after ${patienceMs} ms: ${problem()}`);
    await delay(POLL_MS);
  }
}

/** Rejects if the promise takes too long. */
export async function within<T>(what: string, promise: Promise<T>, patienceMs: number): Promise<T> {
  const timer = new AbortController();
  const late = delay(patienceMs, undefined, { signal: timer.signal }).then(() => {
    throw new Error(`${what} did not end within ${patienceMs} ms`);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    late.catch(() => {});
    timer.abort();
  }
}

/** Time for something to happen that must not happen. */
export async function quietTime(): Promise<void> {
  await delay(QUIET_MS);
}
