import type { Clock, NewRow } from '@postcommit/core';
import type { HintStatements } from '../dialect.js';
import type { SqlExecutor, SqlRecord, SqlStatement } from '../sql-statement.js';
import type { TableName } from '../table-name.js';
import { NotifyDebounce } from './notify-debounce.js';

/** Longer than any sensible poll interval. Rows that fall due later are found by polls before they do. */
const SOON_MS = 60_000;

/** Wakes the workers of other processes when rows are enqueued: at the COMMIT of the insert, or a little later. */
export class EnqueueHints {
  readonly #statements: HintStatements;
  readonly #table: TableName;
  readonly #debounce: NotifyDebounce;

  constructor(statements: HintStatements, table: TableName, executor: SqlExecutor<never>, clock: Clock) {
    this.#statements = statements;
    this.#table = table;
    this.#debounce = new NotifyDebounce(() => executor(statements.notify(table)), clock);
  }

  /** Runs the insert, with a notification if one may be sent. */
  async insert(
    insert: SqlStatement,
    rows: readonly NewRow[],
    run: (statement: SqlStatement) => Promise<readonly SqlRecord[]>,
  ): Promise<void> {
    if (!rows.some(isDueSoon) || !this.#debounce.admit()) {
      await run(insert);
      return;
    }
    const [record] = await run(this.#statements.insertAndNotify(this.#table, insert));
    this.#debounce.answered({ isNotifying: typeof record?.notified === 'string' });
  }

  /** Sends the notification still pending, if any, and leaves no timer behind. */
  flush(): Promise<void> {
    return this.#debounce.flush();
  }
}

/** Uses this process's clock, which is good enough for a hint. */
function isDueSoon({ availableAt }: NewRow): boolean {
  return availableAt === undefined || availableAt.getTime() <= Date.now() + SOON_MS;
}
