import { OutboxError } from '../message/errors.js';
import type { OptionNames } from '../message/known-options.js';
import { Contributions } from './contributions.js';
import { nameToken } from './token.js';

export interface StopOptions {
  /**
   * How long work in flight may take to finish.
   * @default 10_000
   */
  readonly graceMs?: number;
}

export const DEFAULT_GRACE_MS = 10_000;

export function assertGrace(graceMs = 0): void {
  // A longer one does not fit a timer, which would then fire at once.
  if (graceMs >= 0 && graceMs < 2 ** 31) return;
  throw new OutboxError(
    'INVALID_ARGUMENT',
    `graceMs must be 0 or more and below 2^31, got ${String(graceMs)}`,
  );
}
export const STOP_NAMES: OptionNames<StopOptions> = { graceMs: true };

/** Something that runs between `app.start()` and `app.stop()`. */
export interface Lifecycle {
  readonly name: string;
  /** Resources, a connection for example, start before everything else and stop after it. Default `work`. */
  readonly phase?: 'resource' | 'work';
  start(): Promise<void> | void;
  stop(options: StopOptions): Promise<void> | void;
}

/** Resources first, then work; within a phase in the order of the modules. Stopped in reverse. */
export class Lifecycles extends Contributions<Lifecycle> {
  static {
    nameToken(this, '@postcommit/core/Lifecycles');
  }
}
