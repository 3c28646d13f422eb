import type { OutboxApp } from './compose-modules.js';
import { assertGrace, type StopOptions } from './lifecycle.js';

/** The events of a process that end a program in order: those of Kubernetes, Docker and systemd, and of Ctrl-C. */
const SIGNALS = ['SIGTERM', 'SIGINT'] as const;
/** Any timer keeps a process alive; this is the longest. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** The part of `process` that is used here. */
export interface SignalSource {
  on(signal: 'SIGTERM' | 'SIGINT', listener: () => void): unknown;
  off(signal: 'SIGTERM' | 'SIGINT', listener: () => void): unknown;
}

/**
 * Waits for SIGTERM or SIGINT (Ctrl-C), then stops the application: publishes in flight have `graceMs` to end, and all
 * other claims are released, so that nothing waits for a claim to expire. Resolves when the application has stopped;
 * close your own connections then. Keeps the process alive until the signal. A second signal ends the process at once,
 * by the default action.
 *
 * It listens from the call on, not only once it is awaited. Keep `graceMs` a few seconds below the time that your
 * platform allows before it kills (30 s on Kubernetes, 10 s with `docker stop`).
 *
 * @throws whatever `app.stop()` throws; unless you catch it, the process then exits with code 1.
 * @example
 * await app.start();
 * await runUntilSignal(app);
 * await pool.end();
 */
export function runUntilSignal(app: Pick<OutboxApp, 'stop'>, options: StopOptions = {}): Promise<void> {
  return stopAtSignal(process, app, options);
}

/** The same on any emitter of signals. */
export async function stopAtSignal(
  source: SignalSource,
  app: Pick<OutboxApp, 'stop'>,
  options: StopOptions = {},
): Promise<void> {
  assertGrace(options.graceMs);
  await firstSignal(source);
  await app.stop(options);
}

async function firstSignal(source: SignalSource): Promise<void> {
  let onSignal = (): void => {};
  const signalled = new Promise<void>((resolve) => {
    onSignal = () => {
      // Before anything else, so that the next signal finds the default action.
      for (const signal of SIGNALS) source.off(signal, onSignal);
      resolve();
    };
  });
  for (const signal of SIGNALS) source.on(signal, onSignal);
  const alive = setInterval(() => {}, LONGEST_TIMER_MS);
  await signalled;
  clearInterval(alive);
}
