import { nameToken } from '../modules/token.js';

/** Makes a consumer idempotent: it remembers, in the consumer's own transaction, which rows were processed. */
export abstract class ProcessedMessages<Tx = unknown> {
  static {
    nameToken(this, '@postcommit/core/ProcessedMessages');
  }

  /** Runs `handler` unless this consumer processed the row before. Gives whether it ran. */
  abstract processOnce(
    tx: Tx,
    consumer: string,
    rowId: string,
    handler: () => Promise<void>,
  ): Promise<boolean>;
  /** Forgets what was processed longer ago than any duplicate can come. Gives how many. */
  abstract purge(olderThan: { readonly ageMs: number }): Promise<number>;
}
