import { type Clock, systemClock } from '@postcommit/core';

/** The system clock, with timers that don't keep the process alive: a pending hint must not delay its exit. */
export const backgroundClock: Clock = {
  monotonicMs: () => systemClock.monotonicMs(),
  schedule: (delayMs, callback) => {
    const timer = setTimeout(callback, delayMs).unref();
    return () => clearTimeout(timer);
  },
};
