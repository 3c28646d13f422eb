import { OutboxError } from '../message/errors.js';
import type { OptionNames } from '../message/known-options.js';
import { isTimerDelay } from '../message/option-checks.js';
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
  if (isTimerDelay(graceMs, 0)) return;
  throw new OutboxError(
    'INVALID_ARGUMENT',
    `graceMs must be 0 or more and below 2^31, got ${String(graceMs)}`,
  );
}

export const STOP_NAMES: OptionNames<StopOptions> = { graceMs: true };

/** Something that runs between `app.start()` and `app.stop()`. */
export interface Lifecycle {
  readonly name: string;
  /** Resources, such as connections, start before everything else and stop after it. @default 'work' */
  readonly phase?: 'resource' | 'work';
  start(): Promise<void> | void;
  stop(options: StopOptions): Promise<void> | void;
}

/** What runs: resources start first, then work, each in the order of the modules. Stopped in reverse order. */
export class Lifecycles extends Contributions<Lifecycle> {
  static {
    nameToken(this, '@postcommit/core/Lifecycles');
  }
}

const STARTS_ON_DEMAND = Symbol.for('@postcommit/starts-on-demand');

/** What starts when it is first needed, whether or not the application was started. `app.stop()` stops it last. */
export abstract class StartsOnDemand {
  readonly [STARTS_ON_DEMAND] = true;

  abstract stop(options: StopOptions): Promise<void>;
}

/** Also recognises instances from another copy of this package. */
export function startsOnDemand(instance: unknown): instance is StartsOnDemand {
  return typeof instance === 'object' && instance !== null && STARTS_ON_DEMAND in instance;
}
