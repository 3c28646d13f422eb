import type { OutboxApp } from './compose-modules.js';
import { assertGrace, type StopOptions } from './lifecycle.js';

/** SIGTERM is sent by Kubernetes, Docker and systemd, SIGINT by Ctrl-C. */
const SIGNALS = ['SIGTERM', 'SIGINT'] as const;
/** The longest possible timer. It only keeps the process alive. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** The part of `process` that is used. */
export interface SignalSource {
  on(signal: 'SIGTERM' | 'SIGINT', listener: () => void): unknown;
  off(signal: 'SIGTERM' | 'SIGINT', listener: () => void): unknown;
}

/**
 * Waits for SIGTERM or SIGINT (Ctrl-C), then stops the application. Publishes in flight have `graceMs` to finish; all
 * other claims are released, so that no row has to wait for a claim to expire. Resolves when the application has
 * stopped; close your own connections after that. Keeps the process alive until the signal. A second signal terminates
 * the process at once.
 *
 * It listens from the moment it is called, even before it is awaited. Keep `graceMs` a few seconds below the time your
 * platform waits before it kills the process (30 s on Kubernetes, 10 s with `docker stop`).
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

/** The same for any source of signals. */
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
      // First, so that a second signal triggers the default action.
      for (const signal of SIGNALS) source.off(signal, onSignal);
      resolve();
    };
  });
  for (const signal of SIGNALS) source.on(signal, onSignal);
  const alive = setInterval(() => {}, LONGEST_TIMER_MS);
  await signalled;
  clearInterval(alive);
}
