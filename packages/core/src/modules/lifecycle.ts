import type { OptionNames } from '../known-options.js';
import { Pool } from './pool.js';
import { nameToken } from './token.js';

export interface StopOptions {
  /** How long work in flight may take to finish. */
  readonly graceMs?: number;
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
export class Lifecycles extends Pool<Lifecycle> {
  static {
    nameToken(this, '@postcommit/core/Lifecycles');
  }
}
