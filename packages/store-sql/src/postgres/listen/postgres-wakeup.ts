import { type Clock, OutboxWakeup, type WakeupListener } from '@postcommit/core';
import { backgroundClock } from '../../background-clock.js';
import type { ClaimSessions } from '../../claim/claim-sessions.js';
import type { SqlExecutor } from '../../sql-statement.js';
import { TableName, type TableOptions } from '../../table-name.js';
import type { ListenClientLike } from './listen-client-like.js';
import { type SubscriptionSource, WakeupSubscription } from './wakeup-subscription.js';

export interface PostgresWakeupOptions extends TableOptions {
  /** Makes a new client, not yet connected, each time one is needed: `() => new pg.Client(…)`. It is closed here. */
  readonly listenClient: () => ListenClientLike;
  /** For checks, time-outs and reconnecting. Default: the process's. */
  readonly clock?: Clock;
  /** Given to the store too, its claims run on the connection that listens. Default: they don't. */
  readonly claimSessions?: ClaimSessions | undefined;
}

/**
 * Hears the NOTIFY of enqueues in other processes, on a connection of its own for each listener. That this works is
 * proven first: a notification sent through the executor has to arrive. Where it doesn't, behind a transaction pooler,
 * the listener is told so and nothing is tried again; a connection that is lost is replaced, and each attempt that fails
 * is told.
 */
export class PostgresWakeup extends OutboxWakeup {
  readonly #source: SubscriptionSource;

  constructor(executor: SqlExecutor<never>, options: PostgresWakeupOptions) {
    super();
    this.#source = {
      executor: (work) => executor(work),
      listenClient: options.listenClient,
      table: new TableName(options),
      clock: options.clock ?? backgroundClock,
      claimSessions: options.claimSessions,
    };
  }

  subscribe(listener: WakeupListener): () => Promise<void> {
    const subscription = new WakeupSubscription(this.#source, listener);
    return () => subscription.stop();
  }
}
