import { OutboxPauses } from '@postcommit/core';
import type { PausedTopic } from '@postcommit/core/internal';
import type { PauseStatements } from '../capability-statements.js';
import type { SqlTableOptions } from '../dialect.js';
import type { SqlExecutor, SqlRecord, SqlWork } from '../sql-statement.js';
import type { TableName } from '../table-name.js';
import { checkedExecutor } from './checked-executor.js';
import { namedTable } from './named-table.js';

/** Stores one row per paused topic. On PostgreSQL, pausing and resuming wake the workers that listen. */
export class SqlOutboxPauses extends OutboxPauses {
  readonly #run: (work: SqlWork) => Promise<SqlRecord[]>;
  readonly #statements: PauseStatements;
  readonly #table: TableName;

  constructor(executor: SqlExecutor<never>, options: SqlTableOptions = {}) {
    super();
    const { dialect, table } = namedTable('SqlOutboxPauses', options);
    this.#statements = dialect.pauses;
    this.#table = table;
    this.#run = checkedExecutor(executor, dialect, table);
  }

  async pause(topic: string): Promise<boolean> {
    return (await this.#run(this.#statements.pause(this.#table, topic))).length > 0;
  }

  async resume(topic: string): Promise<boolean> {
    return (await this.#run(this.#statements.resume(this.#table, topic))).length > 0;
  }

  async list(): Promise<PausedTopic[]> {
    const records = await this.#run(this.#statements.list(this.#table));
    return records
      .map(({ topic, since_ms }) => ({ topic: String(topic), sinceMs: Number(since_ms) }))
      .sort((a, b) => (a.topic < b.topic ? -1 : 1));
  }
}
