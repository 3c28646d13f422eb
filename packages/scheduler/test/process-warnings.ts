import { setImmediate } from 'node:timers/promises';
import { expect, onTestFinished, vi } from 'vitest';

/** The scheduler's process warnings from now on, which are not printed. Await it for those of failing async listeners. */
export function recordWarnings(): () => Promise<string[]> {
  const warnings: string[] = [];
  const emit = vi.spyOn(process, 'emitWarning').mockImplementation((message, name) => {
    expect(name).toBe('SchedulerWarning');
    warnings.push(String(message));
  });
  onTestFinished(() => emit.mockRestore());
  return async () => {
    await setImmediate();
    return warnings;
  };
}
