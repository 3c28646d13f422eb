import { OutboxError, OutboxSchema, type SchemaProblem } from '@postcommit/core';
import { type Difference, schemaDifferences } from './postgres/check-schema.js';
import { createStatements, describeTable, lockSchema, tableComment } from './postgres/schema.js';
import type { SqlExecutor, SqlStatement } from './sql-statement.js';
import { TableName, type TableOptions } from './table-name.js';

/**
 * The outbox's tables on a SQL database. What `ensure` does is what `check` finds: each difference carries the
 * statements that mend it, so a new table and one of an older or foreign origin take the same way.
 */
export class SqlOutboxSchema extends OutboxSchema {
  readonly #executor: SqlExecutor<unknown>;
  readonly #table: TableName;

  constructor(executor: SqlExecutor<never>, options: TableOptions = {}) {
    super();
    this.#executor = (statements) => executor(statements);
    this.#table = new TableName(options);
  }

  print(): string {
    return `-- ${tableComment()}\n${joined(createStatements(this.#table))}\n`;
  }

  async ensure(): Promise<void> {
    for (const { statements } of await this.#differences()) await this.#apply(statements);
    const left = (await this.check()).filter(({ level }) => level === 'required');
    if (left.length === 0) return;
    const list = left.map(({ problem, fix }) => `- ${problem}\n  ${fix}`).join('\n');
    throw new OutboxError(
      'SCHEMA_OUTDATED',
      `the table ${this.#table} could not be brought up to date:\n${list}`,
    );
  }

  async check(): Promise<SchemaProblem[]> {
    const differences = await this.#differences();
    return differences.map(({ level, problem, statements }) => ({ level, problem, fix: joined(statements) }));
  }

  async #differences(): Promise<Difference[]> {
    return schemaDifferences(this.#table, await this.#executor([describeTable(this.#table)]));
  }

  /** In one transaction, after the lock: another instance that had the same idea waits, and then finds it done. */
  async #apply(statements: readonly string[]): Promise<void> {
    const mend = statements.map((text): SqlStatement => ({ text, values: [] }));
    await this.#executor([lockSchema(this.#table), ...mend]);
  }
}

function joined(statements: readonly string[]): string {
  return statements.map((statement) => `${statement};`).join('\n');
}
