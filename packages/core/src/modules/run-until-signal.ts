import { assertKnownOptions, type OptionNames } from '../message/known-options.js';
import { MAX_TIMER_MS } from '../message/option-checks.js';
import type { OutboxApp } from './compose-modules.js';
import { assertGrace, STOP_NAMES, type StopOptions } from './lifecycle.js';

/** SIGTERM is sent by Kubernetes, Docker and systemd, SIGINT by Ctrl-C. */
const SIGNALS = ['SIGTERM', 'SIGINT'] as const;

/** A signal that stops the application. */
export type StopSignal = (typeof SIGNALS)[number];

export interface RunOptions extends StopOptions {
  /**
   * Also stops when this promise settles, for a process that ends by itself. If it rejects, its error is thrown after
   * the stop.
   *
   * @default only a signal stops the application
   */
  readonly until?: Promise<unknown>;
}

const RUN_NAMES: OptionNames<RunOptions> = { ...STOP_NAMES, until: true };

/** The part of `process` that is used. */
export interface SignalSource {
  on(signal: StopSignal, listener: (signal: StopSignal) => void): unknown;
  off(signal: StopSignal, listener: (signal: StopSignal) => void): unknown;
}

/**
 * Waits for SIGTERM or SIGINT (Ctrl-C), then stops the application. Publishes in flight have `graceMs` to finish; all
 * other claims are released, so that no row has to wait for a claim to expire. Resolves when the application has
 * stopped, with the signal, or with undefined if `until` ended the wait; close your own connections after that. Keeps
 * the process alive until then. A second signal terminates the process at once.
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
export function runUntilSignal(
  app: Pick<OutboxApp, 'stop'>,
  options: RunOptions = {},
): Promise<StopSignal | undefined> {
  return stopAtSignal(process, app, options);
}

/** The same for any source of signals. */
export async function stopAtSignal(
  source: SignalSource,
  app: Pick<OutboxApp, 'stop'>,
  options: RunOptions = {},
): Promise<StopSignal | undefined> {
  assertKnownOptions('runUntilSignal', options, RUN_NAMES, 'INVALID_ARGUMENT');
  const { until, ...stopOptions } = options;
  assertGrace(stopOptions.graceMs);
  try {
    return await firstSignal(source, until);
  } finally {
    await app.stop(stopOptions);
  }
}

/** Resolves with the signal, or settles as `until` does. */
async function firstSignal(source: SignalSource, until?: Promise<unknown>): Promise<StopSignal | undefined> {
  // Only keeps the process alive.
  const alive = setInterval(() => {}, MAX_TIMER_MS);
  let stopListening = (): void => {};
  const signalled = new Promise<StopSignal>((resolve) => {
    const onSignal = (signal: StopSignal): void => {
      // First, so that a second signal triggers the default action.
      stopListening();
      resolve(signal);
    };
    stopListening = () => {
      for (const signal of SIGNALS) source.off(signal, onSignal);
    };
    for (const signal of SIGNALS) source.on(signal, onSignal);
  });
  try {
    return await Promise.race([signalled, ...(until === undefined ? [] : [until.then(() => undefined)])]);
  } finally {
    stopListening();
    clearInterval(alive);
  }
}
