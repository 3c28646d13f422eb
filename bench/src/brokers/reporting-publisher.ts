import { OutboxPublisher, type OutboxRow, type PublishResult } from '@postcommit/core';
import { orderOf, type Report } from '../subject.js';

/** Reports what a publisher has delivered. */
export function reporting(publisher: OutboxPublisher, report: Report): OutboxPublisher {
  return publisher.publishBatch ? new ReportingBatches(publisher, report) : new Reporting(publisher, report);
}

class Reporting extends OutboxPublisher {
  protected readonly publisher: OutboxPublisher;
  protected readonly report: Report;

  constructor(publisher: OutboxPublisher, report: Report) {
    super();
    this.publisher = publisher;
    this.report = report;
  }

  override async start(): Promise<void> {
    await this.publisher.start?.();
  }

  override async stop(options: Parameters<NonNullable<OutboxPublisher['stop']>>[0]): Promise<void> {
    await this.publisher.stop?.(options);
  }

  async publish(row: OutboxRow, context: Parameters<OutboxPublisher['publish']>[1]): Promise<void> {
    await this.publisher.publish(row, context);
    this.report([orderOf(row.payload)]);
  }
}

class ReportingBatches extends Reporting {
  override async publishBatch(
    rows: readonly OutboxRow[],
    context: Parameters<NonNullable<OutboxPublisher['publishBatch']>>[1],
  ): Promise<readonly PublishResult[]> {
    const results = (await this.publisher.publishBatch?.(rows, context)) ?? [];
    this.report(
      rows.flatMap(({ payload }, index) =>
        results[index]?.status === 'fulfilled' ? [orderOf(payload)] : [],
      ),
    );
    return results;
  }
}
