import { nameToken } from '../modules/token.js';

/**
 * Something that drives the dispatcher instead of the worker: a scheduler module binds it, and `app.start()` then
 * leaves the worker alone.
 */
export abstract class OutboxDriver {
  static {
    nameToken(this, '@postcommit/core/OutboxDriver');
  }

  abstract readonly name: string;
}
