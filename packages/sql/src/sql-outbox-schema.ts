import { OutboxError, OutboxSchema, type SchemaProblem } from '@postcommit/core';
import type { Difference, SchemaStatements, SqlTableOptions } from './dialect.js';
import { postgres } from './postgres/dialect.js';
import type { SqlExecutor, SqlSteps } from './sql-statement.js';
import { TableName } from './table-name.js';

/** More than it takes: what a round mends may show what else is to mend. */
const MAX_ROUNDS = 5;

/**
 * The outbox's tables on a SQL database. What `ensure` does is what `check` finds: each difference carries the
 * statements that mend it, so a new table and one of an older or foreign origin take the same way.
 */
export class SqlOutboxSchema extends OutboxSchema {
  readonly #executor: SqlExecutor<never>;
  readonly #statements: SchemaStatements;
  readonly #table: TableName;

  constructor(executor: SqlExecutor<never>, { dialect = postgres, ...options }: SqlTableOptions = {}) {
    super();
    this.#executor = executor;
    this.#statements = dialect.schema;
    this.#table = new TableName(options, dialect.quote);
  }

  print(): string {
    return `-- ${this.#statements.title}\n${joined(this.#statements.create(this.#table))}\n`;
  }

  async ensure(): Promise<void> {
    await this.#executor(() => this.#mendInTurn());
  }

  async check(): Promise<SchemaProblem[]> {
    let differences: readonly Difference[] = [];
    const { compare } = this.#statements;
    const table = this.#table;
    await this.#executor(function* () {
      differences = yield* compare(table);
      return [];
    });
    return differences.map(({ level, problem, statements }) => ({ level, problem, fix: joined(statements) }));
  }

  /** After the lock: doing another instance's work again could convert a time twice. */
  *#mendInTurn(): SqlSteps {
    const { lock, unlock } = this.#statements;
    yield lock(this.#table);
    try {
      return yield* this.#mend();
    } finally {
      if (unlock) yield unlock(this.#table);
    }
  }

  *#mend(): SqlSteps {
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const differences = yield* this.#statements.compare(this.#table);
      if (differences.length === 0) return [];
      for (const { statements } of differences) {
        for (const text of statements) yield { text, values: [] };
      }
    }
    const left = (yield* this.#statements.compare(this.#table)).filter(({ level }) => level === 'required');
    if (left.length === 0) return [];
    const list = left.map(({ problem, statements }) => `- ${problem}\n  ${joined(statements)}`).join('\n');
    throw new OutboxError(
      'SCHEMA_OUTDATED',
      `the table ${this.#table} could not be brought up to date:\n${list}`,
    );
  }
}

function joined(statements: readonly string[]): string {
  return statements.map((statement) => `${statement};`).join('\n');
}
