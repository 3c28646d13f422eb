import { OutboxPublisher, type OutboxRow, type PublishResult } from '@postcommit/core';
import { orderOf, type Report } from '../subject.js';

const DONE: PublishResult = { status: 'fulfilled' };

/** A broker that takes whole batches and does nothing with them. */
export class CountingPublisher extends OutboxPublisher {
  readonly #report: Report;

  constructor(report: Report) {
    super();
    this.#report = report;
  }

  async publish(row: OutboxRow): Promise<void> {
    this.#report([orderOf(row.payload)]);
  }

  override async publishBatch(rows: readonly OutboxRow[]): Promise<PublishResult[]> {
    this.#report(rows.map(({ payload }) => orderOf(payload)));
    return rows.map(() => DONE);
  }
}
