import { OutboxError, OutboxStore, optional, ProcessedMessages } from '@postcommit/core';
import type { JobContext, ScheduledJob } from '@postcommit/scheduler';
import { purgeLine } from './purge-line.js';
import {
  type OutboxRetentionOptions,
  type PurgeReport,
  type Retention,
  resolveRetention,
} from './retention.js';

/** Deletes dispatched rows older than the retention window, by the database's clock. Never deletes pending rows. */
export class OutboxRetentionJob implements ScheduledJob {
  static readonly inject = [OutboxStore, optional(ProcessedMessages)] as const;

  readonly name: string;
  readonly schedule: string;
  readonly timezone: string;
  readonly lockTtlMs: number;
  readonly #store: OutboxStore;
  readonly #processed: ProcessedMessages | undefined;
  readonly #retention: Retention;

  constructor(store: OutboxStore, processed?: ProcessedMessages, options: OutboxRetentionOptions = {}) {
    this.#store = store;
    this.#processed = processed;
    this.#retention = resolveRetention(options);
    assertHasProcessed(this.#retention, processed);
    this.name = this.#retention.name;
    this.schedule = this.#retention.schedule;
    this.timezone = this.#retention.timezone;
    this.lockTtlMs = this.#retention.lockTtlMs;
  }

  async execute({ signal }: Partial<JobContext> = {}): Promise<void> {
    const report = { dispatched: 0, dead: 0, processed: 0 };
    try {
      report.dispatched = await this.#store.purgeDispatched({ ageMs: this.#retention.retentionMs });
      if (!signal?.aborted) report.dead = await this.#purgeDead();
      if (!signal?.aborted) report.processed = await this.#purgeProcessed();
    } finally {
      // Report what was deleted even if the rest failed.
      this.#report(report);
    }
  }

  async #purgeDead(): Promise<number> {
    const { deadRetentionMs } = this.#retention;
    return deadRetentionMs === undefined ? 0 : this.#store.purgeDead({ ageMs: deadRetentionMs });
  }

  async #purgeProcessed(): Promise<number> {
    const { processedRetentionMs } = this.#retention;
    if (processedRetentionMs === undefined || !this.#processed) return 0;
    return this.#processed.purge({ ageMs: processedRetentionMs });
  }

  #report(report: PurgeReport): void {
    if (report.dispatched + report.dead + report.processed === 0) return;
    const { logger, onPurged } = this.#retention;
    if (logger) logger.info(purgeLine(report, this.#retention));
    onPurged?.(report);
  }
}

function assertHasProcessed(
  { processedRetentionMs }: Retention,
  processed: ProcessedMessages | undefined,
): void {
  if (processedRetentionMs === undefined || processed) return;
  throw new OutboxError(
    'INVALID_CONFIG',
    'OutboxRetentionModule: processedRetentionMs is set, but the store has no ProcessedMessages; leave it out',
  );
}
