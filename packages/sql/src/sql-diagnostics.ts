import { type DiagnosticLimits, OutboxDiagnostics, type SchemaProblem } from '@postcommit/core';
import { findLongTransactions, longTransactionProblem } from './postgres/long-transactions.js';
import type { SqlExecutor } from './sql-statement.js';

/** Looks for what slows the outbox down from outside: transactions that hold back vacuum. */
export class SqlDiagnostics extends OutboxDiagnostics {
  readonly #executor: SqlExecutor<never>;

  constructor(executor: SqlExecutor<never>) {
    super();
    this.#executor = executor;
  }

  async find({ transactionAgeMs }: DiagnosticLimits): Promise<SchemaProblem[]> {
    return (await this.#executor([findLongTransactions(transactionAgeMs)])).map(longTransactionProblem);
  }
}
