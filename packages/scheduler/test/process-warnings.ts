import { setImmediate } from 'node:timers/promises';
import { onTestFinished } from 'vitest';

/** The scheduler's process warnings from now on. Await it to be sure that those already emitted have come. */
export function recordWarnings(): () => Promise<string[]> {
  const warnings: string[] = [];
  const listener = (warning: Error): void => {
    if (warning.name === 'SchedulerWarning') warnings.push(warning.message);
  };
  process.on('warning', listener);
  onTestFinished(() => void process.off('warning', listener));
  return async () => {
    await setImmediate();
    return warnings;
  };
}
