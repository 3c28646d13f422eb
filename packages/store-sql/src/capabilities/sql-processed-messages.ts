import { OutboxError, ProcessedMessages } from '@postcommit/core';
import { assertKnownOptions } from '@postcommit/core/internal';
import type { ProcessedStatements } from '../capability-statements.js';
import type { SqlTableOptions } from '../dialect.js';
import type { SqlExecutor } from '../sql-statement.js';
import { deletedRows, inPages } from '../store/sql-outbox-store.js';
import type { TableName } from '../table-name.js';
import { namedTable } from './named-table.js';

/**
 * Records processed messages in the consumer's own transaction. If two consumers process the same message at once, the
 * second waits for the first: it skips if the first commits, and runs if the first rolls back.
 */
export class SqlProcessedMessages<Tx> extends ProcessedMessages<Tx> {
  readonly #executor: SqlExecutor<Tx>;
  readonly #statements: ProcessedStatements;
  readonly #table: TableName;

  constructor(executor: SqlExecutor<Tx>, options: SqlTableOptions = {}) {
    super();
    const { dialect, table } = namedTable('SqlProcessedMessages', options);
    this.#executor = executor;
    this.#statements = dialect.processed;
    this.#table = table;
  }

  async processOnce(tx: Tx, consumer: string, rowId: string, handler: () => Promise<void>): Promise<boolean> {
    const first = await this.#executor(this.#statements.remember(this.#table, consumer, rowId), tx);
    if (first.length === 0) return false;
    await handler();
    return true;
  }

  async purge(olderThan: { readonly ageMs: number }): Promise<number> {
    assertKnownOptions('purge', olderThan, { ageMs: true }, 'INVALID_ARGUMENT');
    const ageMs = olderThan?.ageMs;
    if (!(ageMs >= 0 && Number.isFinite(ageMs)))
      throw new OutboxError('INVALID_ARGUMENT', `purge: ageMs must be 0 or more, got ${String(ageMs)}`);
    return inPages(async (pageSize) =>
      deletedRows(await this.#executor(this.#statements.purgePage(this.#table, ageMs, pageSize))),
    );
  }
}
