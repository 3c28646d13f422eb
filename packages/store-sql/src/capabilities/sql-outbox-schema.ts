import { OutboxError, OutboxSchema, type SchemaProblem } from '@postcommit/core';
import type { AdoptionPlan } from '@postcommit/core/internal';
import type { Comparison, Difference, ForeignTable, SchemaStatements } from '../capability-statements.js';
import type { SqlTableOptions } from '../dialect.js';
import type { SqlExecutor, SqlSteps } from '../sql-statement.js';
import type { TableName } from '../table-name.js';
import { FOREIGN_TABLE_FIX } from '../table-origin.js';
import { namedTable } from './named-table.js';

/** More than needed: the fixes of one round may reveal further differences. */
const MAX_ROUNDS = 5;

/**
 * Owns the outbox tables in a SQL database; your ORM does not. `ensure` fixes exactly what `check` finds: each difference
 * carries the statements that fix it, so creating and upgrading tables is the same code. A table that is not ours stays
 * untouched until it is adopted.
 */
export class SqlOutboxSchema extends OutboxSchema {
  readonly #executor: SqlExecutor<never>;
  readonly #statements: SchemaStatements;
  readonly #table: TableName;

  constructor(executor: SqlExecutor<never>, options: SqlTableOptions = {}) {
    super();
    const { dialect, table } = namedTable('SqlOutboxSchema', options);
    this.#executor = executor;
    this.#statements = dialect.schema;
    this.#table = table;
  }

  print(): string {
    return `-- ${this.#statements.title}\n${joined(this.#statements.create(this.#table))}\n`;
  }

  async ensure(): Promise<void> {
    await this.#executor(() => this.#locked(() => this.#fix()));
  }

  async check(): Promise<SchemaProblem[]> {
    const { foreign, differences } = await this.#compare();
    return foreign ? [foreignProblem(foreign)] : differences.map(toProblem);
  }

  override async planAdoption(): Promise<AdoptionPlan | undefined> {
    const { foreign } = await this.#compare();
    if (!foreign) return undefined;
    const { problem, obstacles, adoption: statements } = foreign;
    const { isAtomic } = this.#statements;
    return { problem, rows: await this.#countRows(foreign), statements, isAtomic, obstacles };
  }

  override async adopt(): Promise<void> {
    await this.#executor(() => this.#locked(() => this.#adopt()));
  }

  async #compare(): Promise<Comparison> {
    let found: Comparison = { differences: [] };
    const { compare } = this.#statements;
    const table = this.#table;
    await this.#executor(function* () {
      found = yield* compare(table);
      return [];
    });
    return found;
  }

  /** Counts only if it can be adopted: otherwise it may not even be a table. */
  async #countRows({ obstacles }: ForeignTable): Promise<number> {
    if (obstacles.length > 0) return 0;
    const [record] = await this.#executor({
      text: `select count(*) as total from ${this.#table.sql}`,
      values: [],
    });
    return Number(record?.total ?? 0);
  }

  /** Runs under the lock: repeating another instance's work could convert a timestamp twice. */
  *#locked(work: () => SqlSteps): SqlSteps {
    const { lock, unlock } = this.#statements;
    yield lock(this.#table);
    try {
      return yield* work();
    } finally {
      if (unlock) yield unlock(this.#table);
    }
  }

  *#fix(): SqlSteps {
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const { foreign, differences } = yield* this.#statements.compare(this.#table);
      if (foreign) throw new OutboxError('FOREIGN_TABLE', `${foreign.problem}: ${FOREIGN_TABLE_FIX}`);
      const fixable = differences.filter(({ isByHand }) => !isByHand);
      if (fixable.length === 0) return this.#assertUpToDate(differences);
      for (const { statements } of fixable) yield* run(statements);
    }
    const { differences } = yield* this.#statements.compare(this.#table);
    return this.#assertUpToDate(differences);
  }

  *#adopt(): SqlSteps {
    const { foreign } = yield* this.#statements.compare(this.#table);
    if (!foreign) return [];
    const { problem, obstacles, adoption, restore = [] } = foreign;
    if (obstacles.length > 0) {
      throw new OutboxError('FOREIGN_TABLE', `${problem}, and can't be adopted: ${obstacles.join('; ')}`);
    }
    try {
      yield* run(adoption);
    } finally {
      // PostgreSQL, where no statement runs after a failure, has nothing to restore.
      yield* run(restore);
    }
    return yield* this.#fix();
  }

  #assertUpToDate(differences: readonly Difference[]): never[] {
    const left = differences.filter(({ level }) => level === 'required');
    if (left.length === 0) return [];
    const list = left.map(({ problem }) => problem).join('; ');
    throw new OutboxError(
      'SCHEMA_OUTDATED',
      `the table ${this.#table.sql} could not be brought up to date: ${list}. 'outbox:doctor' prints what to do`,
    );
  }
}

function* run(statements: readonly string[]): SqlSteps {
  for (const text of statements) yield { text, values: [] };
  return [];
}

function toProblem({ level, problem, statements }: Difference): SchemaProblem {
  return { level, problem, fix: joined(statements) };
}

function foreignProblem({ problem }: ForeignTable): SchemaProblem {
  return { level: 'required', code: 'FOREIGN_TABLE', problem, fix: `-- ${FOREIGN_TABLE_FIX}` };
}

function joined(statements: readonly string[]): string {
  return statements.map((statement) => `${statement};`).join('\n');
}
