import { nameToken } from '../modules/token.js';

/** Makes a consumer idempotent: records, in the consumer's own transaction, which rows it has processed. */
export abstract class ProcessedMessages<Tx = unknown> {
  static {
    nameToken(this, '@postcommit/core/ProcessedMessages');
  }

  /** Runs `handler` unless this consumer has already processed the row. Returns whether it ran. */
  abstract processOnce(
    tx: Tx,
    consumer: string,
    rowId: string,
    handler: () => Promise<void>,
  ): Promise<boolean>;
  /**
   * Deletes records older than `ageMs`; no duplicate may arrive after that. Returns the number of deleted records.
   *
   * @throws `INVALID_ARGUMENT` for an invalid age.
   */
  abstract purge(olderThan: { readonly ageMs: number }): Promise<number>;
}
