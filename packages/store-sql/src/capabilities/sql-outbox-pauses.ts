import { OutboxPauses, type PausedTopic } from '@postcommit/core/internal';
import type { PauseStatements, SqlTableOptions } from '../dialect.js';
import { postgres } from '../postgres/dialect.js';
import type { SqlExecutor } from '../sql-statement.js';
import { TableName } from '../table-name.js';

/** Stores one row per paused topic. On PostgreSQL, pausing and resuming wake the workers that listen. */
export class SqlOutboxPauses extends OutboxPauses {
  readonly #executor: SqlExecutor<never>;
  readonly #statements: PauseStatements;
  readonly #table: TableName;

  constructor(executor: SqlExecutor<never>, { dialect = postgres, ...options }: SqlTableOptions = {}) {
    super();
    this.#executor = executor;
    this.#statements = dialect.pauses;
    this.#table = new TableName(options, dialect.quote);
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
