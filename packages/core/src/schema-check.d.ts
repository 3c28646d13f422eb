import type { OutboxSchema } from './capabilities.js';
import type { Lifecycle } from './modules/lifecycle.js';
import type { OutboxSignals } from './outbox-signals.js';
/**
 * Refuses to start on a table that can't work, with what mends it, and tells what is only badly tuned. A database that
 * does not answer is no reason to refuse: the worker goes on trying, and says so.
 */
export declare function schemaCheck(schema: OutboxSchema | undefined, signals: OutboxSignals): Lifecycle;
