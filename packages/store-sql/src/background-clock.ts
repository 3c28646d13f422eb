import { type Clock, systemClock } from '@postcommit/core';

/** The process's own time, with timers that do not keep the process alive: a hint is no reason to stay. */
export const backgroundClock: Clock = {
  monotonicMs: () => systemClock.monotonicMs(),
  schedule: (delayMs, callback) => {
    const timer = setTimeout(callback, delayMs).unref();
    return () => clearTimeout(timer);
  },
};
