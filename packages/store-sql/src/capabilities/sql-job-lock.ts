import { randomUUID } from 'node:crypto';
import { JobLock } from '@postcommit/core';
import type { HeldLock } from '@postcommit/core/internal';
import type { LockStatements } from '../capability-statements.js';
import type { SqlTableOptions } from '../dialect.js';
import type { SqlExecutor, SqlWork } from '../sql-statement.js';
import type { TableName } from '../table-name.js';
import { namedTable } from './named-table.js';

/** Stores one row per lock, timed by the database's clock. The token fences: a former holder can't renew a lost lock. */
export class SqlJobLock extends JobLock {
  readonly #executor: SqlExecutor<never>;
  readonly #statements: LockStatements;
  readonly #table: TableName;

  constructor(executor: SqlExecutor<never>, options: SqlTableOptions = {}) {
    super();
    const { dialect, table } = namedTable('SqlJobLock', options);
    this.#executor = executor;
    this.#statements = dialect.locks;
    this.#table = table;
  }

  async acquire(name: string, ttlMs: number): Promise<HeldLock | undefined> {
    const token = randomUUID();
    const { take, renew, release } = this.#statements;
    if (!(await this.#isDone(take(this.#table, name, token, ttlMs)))) return undefined;
    return {
      renew: (nextTtlMs) => this.#isDone(renew(this.#table, name, token, nextTtlMs)),
      release: async () => {
        await this.#executor(release(this.#table, name, token));
      },
    };
  }

  async #isDone(work: SqlWork): Promise<boolean> {
    return (await this.#executor(work)).length > 0;
  }
}
