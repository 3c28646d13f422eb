import { nameToken } from '../modules/token.js';

/**
 * Drives the dispatcher in place of the worker. A scheduler module binds it; `app.start()` then does not start the
 * worker.
 */
export abstract class OutboxDriver {
  static {
    nameToken(this, '@postcommit/core/OutboxDriver');
  }

  abstract readonly name: string;
}
