import { Pool } from './pool.js';
import { nameToken } from './token.js';

export interface StopOptions {
  /** How long work in flight may take to finish. */
  readonly graceMs?: number;
}

/** Something that runs between `app.start()` and `app.stop()`. */
export interface Lifecycle {
  readonly name: string;
  start(): Promise<void> | void;
  stop(options: StopOptions): Promise<void> | void;
}

/** Started in the order of the modules, stopped in reverse. */
export class Lifecycles extends Pool<Lifecycle> {
  static {
    nameToken(this, '@postcommit/core/Lifecycles');
  }
}
