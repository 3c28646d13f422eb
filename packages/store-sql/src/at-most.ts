import type { Clock } from '@postcommit/core';

/** Waits until `work` settles, but no longer than `limitMs`. Never rejects. */
export function atMost(limitMs: number, work: Promise<unknown>, clock: Clock): Promise<void> {
  return new Promise((resolve) => {
    const cancel = clock.schedule(limitMs, resolve);
    const ended = (): void => {
      cancel();
      resolve();
    };
    work.then(ended, ended);
  });
}
