import type { Clock, NewRow } from '@postcommit/core';
import type { SqlDialect } from '../dialect.js';
import type { SqlExecutor, SqlStatement } from '../sql-statement.js';
import type { TableName } from '../table-name.js';
import { NotifyDebounce } from './notify-debounce.js';

type Notify = NonNullable<SqlDialect['notify']>;

/** Wakes the workers of other processes when rows are enqueued: in the transaction of the insert, or a little later. */
export class EnqueueHints {
  readonly #notify: Notify;
  readonly #table: TableName;
  readonly #debounce: NotifyDebounce;

  constructor(notify: Notify, table: TableName, executor: SqlExecutor<never>, clock: Clock) {
    this.#notify = notify;
    this.#table = table;
    this.#debounce = new NotifyDebounce(() => executor(notify(table)), clock);
  }

  /** Returns the insert, with a notification if one is due now. Rows scheduled for later are found when they fall due. */
  addTo(insert: SqlStatement, rows: readonly NewRow[]): SqlStatement {
    return rows.some(isDue) && this.#debounce.admit() ? this.#notify(this.#table, insert) : insert;
  }

  /** Sends the notification still pending, if any, and leaves no timer behind. */
  flush(): Promise<void> {
    return this.#debounce.flush();
  }
}

/** Uses this process's clock, which is good enough for a hint. */
function isDue({ availableAt }: NewRow): boolean {
  return availableAt === undefined || availableAt.getTime() <= Date.now();
}
