/** The process's own clock, for deadlines and timers. Times stored in rows come from the database's clock. */
export interface Clock {
  /** Milliseconds that never decrease. Only differences are meaningful. */
  monotonicMs(): number;
  /** Calls back once after `delayMs`. Returns a function that cancels it. */
  schedule(delayMs: number, callback: () => void): () => void;
}

export const systemClock: Clock = {
  monotonicMs: () => performance.now(),
  schedule: (delayMs, callback) => {
    const timer = setTimeout(callback, delayMs);
    return () => clearTimeout(timer);
  },
};

/** Returns whether `work` ends within `limitMs`. Rejects if `work` fails before that. */
export async function endsWithin(limitMs: number, work: Promise<unknown>, clock: Clock): Promise<boolean> {
  let cancel: () => void = () => {};
  const timeIsUp = new Promise<false>((resolve) => {
    cancel = clock.schedule(limitMs, () => resolve(false));
  });
  try {
    return await Promise.race([work.then(() => true), timeIsUp]);
  } finally {
    cancel();
  }
}
