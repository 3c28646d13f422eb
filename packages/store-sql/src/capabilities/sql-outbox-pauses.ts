import { OutboxPauses, type PausedTopic } from '@postcommit/core/internal';
import type { PauseStatements, SqlTableOptions } from '../dialect.js';
import type { SqlExecutor } from '../sql-statement.js';
import type { TableName } from '../table-name.js';
import { namedTable } from './named-table.js';

/** Stores one row per paused topic. On PostgreSQL, pausing and resuming wake the workers that listen. */
export class SqlOutboxPauses extends OutboxPauses {
  readonly #executor: SqlExecutor<never>;
  readonly #statements: PauseStatements;
  readonly #table: TableName;

  constructor(executor: SqlExecutor<never>, options: SqlTableOptions = {}) {
    super();
    const { dialect, table } = namedTable('SqlOutboxPauses', options);
    this.#executor = executor;
    this.#statements = dialect.pauses;
    this.#table = table;
  }

  async pause(topic: string): Promise<boolean> {
    return (await this.#executor(this.#statements.pause(this.#table, topic))).length > 0;
  }

  async resume(topic: string): Promise<boolean> {
    return (await this.#executor(this.#statements.resume(this.#table, topic))).length > 0;
  }

  async list(): Promise<PausedTopic[]> {
    const records = await this.#executor(this.#statements.list(this.#table));
    return records
      .map(({ topic, since_ms }) => ({ topic: String(topic), sinceMs: Number(since_ms) }))
      .sort((a, b) => (a.topic < b.topic ? -1 : 1));
  }
}
