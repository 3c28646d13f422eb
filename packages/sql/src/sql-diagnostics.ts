import { type DiagnosticLimits, OutboxDiagnostics, type SchemaProblem } from '@postcommit/core';
import type { LongTransactionStatements, SqlDialect } from './dialect.js';
import { postgres } from './postgres/dialect.js';
import type { SqlExecutor } from './sql-statement.js';

/** Looks for what slows the outbox down from outside: transactions that stay open. */
export class SqlDiagnostics extends OutboxDiagnostics {
  readonly #executor: SqlExecutor<never>;
  readonly #statements: LongTransactionStatements | undefined;

  constructor(executor: SqlExecutor<never>, { dialect = postgres }: { readonly dialect?: SqlDialect } = {}) {
    super();
    this.#executor = executor;
    this.#statements = dialect.longTransactions;
  }

  async find({ transactionAgeMs }: DiagnosticLimits): Promise<SchemaProblem[]> {
    if (!this.#statements) return [];
    return (await this.#executor(this.#statements.find(transactionAgeMs))).map(this.#statements.problemOf);
  }
}
