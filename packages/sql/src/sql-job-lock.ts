import { randomUUID } from 'node:crypto';
import { type HeldLock, JobLock } from '@postcommit/core';
import type { SqlExecutor, SqlStatement } from './sql-statement.js';
import { TableName, type TableOptions } from './table-name.js';

/** A row per lock, taken and kept by the database's clock. */
export class SqlJobLock extends JobLock {
  readonly #executor: SqlExecutor<unknown>;
  readonly #table: string;

  constructor(executor: SqlExecutor<never>, options: TableOptions = {}) {
    super();
    this.#executor = (statements) => executor(statements);
    this.#table = new TableName(options).quoted('_locks');
  }

  async acquire(name: string, ttlMs: number): Promise<HeldLock | undefined> {
    const token = randomUUID();
    const taken = await this.#executor([this.#take(name, token, ttlMs)]);
    if (taken.length === 0) return undefined;
    return {
      renew: async (nextTtlMs) => (await this.#executor([this.#renew(name, token, nextTtlMs)])).length > 0,
      release: async () => {
        await this.#executor([this.#release(name, token)]);
      },
    };
  }

  #take(name: string, token: string, ttlMs: number): SqlStatement {
    return {
      text: `
        insert into ${this.#table} as l (name, token, locked_until)
        values ($1, $2, clock_timestamp() + $3::float8 * interval '1 millisecond')
        on conflict (name) do update set token = excluded.token, locked_until = excluded.locked_until
        where l.locked_until <= clock_timestamp()
        returning name`,
      values: [name, token, ttlMs],
    };
  }

  /** The token is the fence: who lost the lock can't take it back. */
  #renew(name: string, token: string, ttlMs: number): SqlStatement {
    return {
      text: `
        update ${this.#table} set locked_until = clock_timestamp() + $3::float8 * interval '1 millisecond'
        where name = $1 and token = $2
        returning name`,
      values: [name, token, ttlMs],
    };
  }

  #release(name: string, token: string): SqlStatement {
    return { text: `delete from ${this.#table} where name = $1 and token = $2`, values: [name, token] };
  }
}
