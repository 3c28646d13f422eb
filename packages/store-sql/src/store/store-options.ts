import type { Clock, OutboxStoreOptions } from '@postcommit/core';
import type { OptionNames } from '@postcommit/core/internal';
import type { ClaimSessions } from '../claim/claim-sessions.js';
import type { SqlTableOptions } from '../dialect.js';

export interface SqlOutboxStoreOptions extends OutboxStoreOptions, SqlTableOptions {
  /**
   * Whether an enqueue wakes workers in other processes, if the database can: by NOTIFY on PostgreSQL. Turn it off if
   * transactions must not notify; for example, PREPARE TRANSACTION rejects those that do.
   *
   * @default true
   */
  readonly wakeup?: boolean;
  /**
   * Clock for the wake-up and for searches from the front. Rows follow the database's clock.
   *
   * @default the process's clock
   */
  readonly clock?: Clock;
  /**
   * Sessions to claim rows without a key in, while one is free. Store modules set this.
   *
   * @default none: claims run on the executor
   */
  readonly claimSessions?: ClaimSessions | undefined;
}

/** The option names shared by all stores, for drivers to check theirs against. */
export const SQL_STORE_OPTION_NAMES: OptionNames<Omit<SqlOutboxStoreOptions, 'dialect'>> = {
  claimTimeoutMs: true,
  pipeline: true,
  table: true,
  schema: true,
  wakeup: true,
  clock: true,
  claimSessions: true,
};

export const ALL_OPTION_NAMES: OptionNames<SqlOutboxStoreOptions> = {
  ...SQL_STORE_OPTION_NAMES,
  dialect: true,
};
