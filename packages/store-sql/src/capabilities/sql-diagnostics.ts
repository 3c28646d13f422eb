import type { SchemaProblem } from '@postcommit/core';
import { type DiagnosticLimits, OutboxDiagnostics } from '@postcommit/core/internal';
import { isYoung } from '../claim/keyed-lock.js';
import type { SqlDialect, SqlTableOptions } from '../dialect.js';
import type { SqlExecutor } from '../sql-statement.js';
import type { TableName } from '../table-name.js';
import { namedTable } from './named-table.js';

/** Finds outside causes that slow the outbox down: long-running transactions, and a lock that others hold. */
export class SqlDiagnostics extends OutboxDiagnostics {
  readonly #executor: SqlExecutor<never>;
  readonly #dialect: SqlDialect;
  readonly #table: TableName;

  constructor(executor: SqlExecutor<never>, options: SqlTableOptions = {}) {
    super();
    const { dialect, table } = namedTable('SqlDiagnostics', options);
    this.#executor = executor;
    this.#dialect = dialect;
    this.#table = table;
  }

  async find({ transactionAgeMs }: DiagnosticLimits): Promise<SchemaProblem[]> {
    return [...(await this.#lockHolders()), ...(await this.#longTransactions(transactionAgeMs))];
  }

  async #lockHolders(): Promise<SchemaProblem[]> {
    const statements = this.#dialect.keyedLock;
    if (!statements) return [];
    const holders = await this.#executor(statements.holders(this.#table));
    return holders
      .filter((holder) => !isYoung(holder))
      .map((holder) => statements.problemOf(holder, this.#table));
  }

  async #longTransactions(ageMs: number): Promise<SchemaProblem[]> {
    const statements = this.#dialect.longTransactions;
    if (!statements) return [];
    return (await this.#executor(statements.find(ageMs))).map(statements.problemOf);
  }
}
