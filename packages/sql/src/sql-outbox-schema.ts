import { OutboxError, OutboxSchema, type SchemaProblem } from '@postcommit/core';
import { sqlState } from './driver-errors.js';
import { type Difference, schemaDifferences } from './postgres/check-schema.js';
import {
  assertUnchanged,
  createStatements,
  describeForChange,
  describeTable,
  lockSchema,
  tableComment,
} from './postgres/schema.js';
import type { SqlExecutor, SqlStatement } from './sql-statement.js';
import { TableName, type TableOptions } from './table-name.js';

/** How `assertUnchanged` fails. */
const DIVISION_BY_ZERO = '22012';
/** More than the instances that can be first, one after another, before nothing is left to do. */
const MAX_ROUNDS = 20;

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
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const [record] = await this.#executor([lockSchema(this.#table), describeForChange(this.#table)]);
      const differences = schemaDifferences(this.#table, record ? [record] : []);
      if (differences.length === 0) return;
      await this.#mend(differences, record?.fingerprint);
    }
    const left = (await this.check()).filter(({ level }) => level === 'required');
    if (left.length === 0) return;
    const list = left.map(({ problem, fix }) => `- ${problem}\n  ${fix}`).join('\n');
    throw new OutboxError(
      'SCHEMA_OUTDATED',
      `the table ${this.#table} could not be brought up to date:\n${list}`,
    );
  }

  async check(): Promise<SchemaProblem[]> {
    const differences = schemaDifferences(this.#table, await this.#executor([describeTable(this.#table)]));
    return differences.map(({ level, problem, statements }) => ({ level, problem, fix: joined(statements) }));
  }

  /** In one transaction, after the lock, and only if the table is still what was looked at. */
  async #mend(differences: readonly Difference[], fingerprint: unknown): Promise<void> {
    const statements = differences.flatMap((difference) => difference.statements);
    const mend = statements.map((text): SqlStatement => ({ text, values: [] }));
    try {
      await this.#executor([lockSchema(this.#table), assertUnchanged(this.#table, fingerprint), ...mend]);
    } catch (error) {
      // Another instance was first: the next round looks at what is left.
      if (sqlState(error) !== DIVISION_BY_ZERO) throw error;
    }
  }
}

function joined(statements: readonly string[]): string {
  return statements.map((statement) => `${statement};`).join('\n');
}
