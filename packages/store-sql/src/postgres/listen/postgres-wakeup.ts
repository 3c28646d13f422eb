import { type Clock, OutboxWakeup } from '@postcommit/core';
import {
  assertKnownOptions,
  backgroundClock,
  type OptionNames,
  type WakeupListener,
} from '@postcommit/core/internal';
import type { ClaimSessions } from '../../claim/claim-sessions.js';
import type { SqlExecutor } from '../../sql-statement.js';
import { TableName, type TableOptions } from '../../table-name.js';
import type { ListenClientLike } from './listen-client-like.js';
import { type SubscriptionSource, WakeupSubscription } from './wakeup-subscription.js';

export interface PostgresWakeupOptions extends TableOptions {
  /** Creates a new, unconnected client each time one is needed: `() => new pg.Client(…)`. The wake-up closes it. */
  readonly listenClient: () => ListenClientLike;
  /**
   * Clock for checks, timeouts and reconnecting.
   *
   * @default the process's clock
   */
  readonly clock?: Clock;
  /**
   * Pass the same instance to the store to run its claims on the listener connection.
   *
   * @default none: claims run on the pool
   */
  readonly claimSessions?: ClaimSessions | undefined;
}

const WAKEUP_NAMES: OptionNames<PostgresWakeupOptions> = {
  listenClient: true,
  table: true,
  schema: true,
  clock: true,
  claimSessions: true,
};

/**
 * Wakes workers on the NOTIFY of enqueues in other processes, with a dedicated connection per listener.
 *
 * It first verifies that notifications arrive, by sending one through the executor. If it doesn't arrive, e.g. behind a
 * transaction pooler, it reports this to the listener (`INVALID_CONFIG`) and does not retry. A lost connection is
 * replaced; each failed attempt is reported to the listener.
 */
export class PostgresWakeup extends OutboxWakeup {
  readonly #source: SubscriptionSource;

  constructor(executor: SqlExecutor<never>, options: PostgresWakeupOptions) {
    super();
    assertKnownOptions('PostgresWakeup', options, WAKEUP_NAMES);
    this.#source = {
      executor: (work, tx, bound) => executor(work, tx, bound),
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
