import { ProcessedMessages } from '@postcommit/core';
import type { SqlExecutor } from './sql-statement.js';
import { TableName, type TableOptions } from './table-name.js';

/**
 * Remembers what was processed, in the consumer's own transaction. Of two consumers at once the second waits for
 * the first: if that commits, it skips; if that rolls back, it runs.
 */
export class SqlProcessedMessages<Tx> extends ProcessedMessages<Tx> {
  readonly #executor: SqlExecutor<Tx>;
  readonly #table: string;

  constructor(executor: SqlExecutor<Tx>, options: TableOptions = {}) {
    super();
    this.#executor = executor;
    this.#table = new TableName(options).quoted('_processed');
  }

  async processOnce(tx: Tx, consumer: string, rowId: string, handler: () => Promise<void>): Promise<boolean> {
    const text = `insert into ${this.#table} (consumer, row_id) values ($1, $2) on conflict do nothing returning row_id`;
    const first = await this.#executor([{ text, values: [consumer, rowId] }], tx);
    if (first.length === 0) return false;
    await handler();
    return true;
  }

  async purge({ ageMs }: { readonly ageMs: number }): Promise<number> {
    const text = `delete from ${this.#table} where processed_at < now() - $1::float8 * interval '1 millisecond' returning row_id`;
    return (await this.#executor([{ text, values: [ageMs] }])).length;
  }
}
