/** The process's own time: for deadlines and timers, never for what the database decides. */
export interface Clock {
  /** Milliseconds that never go back; only differences mean something. */
  monotonicMs(): number;
  /** Calls back once after `delayMs`. Returns the way to cancel it. */
  schedule(delayMs: number, callback: () => void): () => void;
}

export const systemClock: Clock = {
  monotonicMs: () => performance.now(),
  schedule: (delayMs, callback) => {
    const timer = setTimeout(callback, delayMs);
    return () => clearTimeout(timer);
  },
};

/** Whether `work` ends in time. Rejects if it does and fails. */
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
