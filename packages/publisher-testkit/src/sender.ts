import {
  type OutboxPublisher,
  type OutboxRow,
  type PublisherProblem,
  type PublishResult,
  publishInWaves,
} from '@postcommit/core';
import { until, within } from './waiting.js';

/** How many rows are published at the same time where there are no batches, as by a worker with this concurrency. */
const CONCURRENCY = 10;

/** How a publish is called. */
export interface SendOptions {
  readonly signal?: AbortSignal;
  readonly attempt?: number;
}

/** A publish that has begun. */
export interface Attempt {
  readonly isPending: boolean;
  /** Never rejects, except when the publish does not end. */
  result(): Promise<PublishResult>;
}

/** Drives a publisher as the engine does. Every call is bounded, so that one that hangs fails its test by name. */
export class Sender {
  readonly publisher: OutboxPublisher;
  readonly #patienceMs: number;
  /** Without batches, one begins when the other has ended: a worker limits the rows of all its batches together. */
  #lane: Promise<unknown> = Promise.resolve();

  constructor(publisher: OutboxPublisher, patienceMs: number) {
    this.publisher = publisher;
    this.#patienceMs = patienceMs;
  }

  get hasBatches(): boolean {
    return this.publisher.publishBatch !== undefined;
  }

  start(): Promise<void> {
    return within('start()', Promise.resolve(this.publisher.start?.()), this.#patienceMs);
  }

  stop(graceMs = 2_000): Promise<void> {
    return within('stop()', Promise.resolve(this.publisher.stop?.({ graceMs })), graceMs + this.#patienceMs);
  }

  async check(redeliveryAfterMs = 300_000): Promise<readonly PublisherProblem[]> {
    const checking = Promise.resolve(this.publisher.check?.({ redeliveryAfterMs }));
    const problems = await within('check()', checking, this.#patienceMs);
    return problems ?? [];
  }

  /** Begins to publish one row. */
  begin(row: OutboxRow, options: SendOptions = {}): Attempt {
    const { signal = new AbortController().signal, attempt = row.attempts + 1 } = options;
    let isPending = true;
    // The function may throw as well as reject.
    const publishing = (async () => this.publisher.publish(row, { signal, attempt }))();
    const ended = outcome(publishing).finally(() => {
      isPending = false;
    });
    return {
      get isPending() {
        return isPending;
      },
      result: () => within(`publish of row ${row.id}`, ended, this.#patienceMs),
    };
  }

  /** Publishes one row. Never rejects, except when the publish does not end. */
  publish(row: OutboxRow, options: SendOptions = {}): Promise<PublishResult> {
    return this.begin(row, options).result();
  }

  /** Publishes rows in one batch, or in waves of single rows if the publisher has no batches. */
  batch(rows: readonly OutboxRow[], { signal = new AbortController().signal }: SendOptions = {}) {
    const publishing = this.publisher.publishBatch
      ? this.publisher.publishBatch(rows, { signal })
      : this.#oneByOne(rows, signal);
    return within(`publishBatch of ${rows.length} rows`, publishing, 2 * this.#patienceMs);
  }

  #oneByOne(rows: readonly OutboxRow[], signal: AbortSignal): Promise<readonly PublishResult[]> {
    const publishAll = (wave: readonly OutboxRow[]) =>
      Promise.all(wave.map((row) => this.publish(row, { signal })));
    const publishing = this.#lane.then(() =>
      publishInWaves(rows, publishAll, { signal, maxRows: CONCURRENCY }),
    );
    this.#lane = publishing.catch(() => {});
    return publishing;
  }

  /** Publishes one row, and again until it is delivered. */
  async deliver(row: OutboxRow): Promise<void> {
    let attempts = 0;
    let last: PublishResult | undefined;
    await until(
      async () => {
        last = await this.publish({ ...row, attempts }, { attempt: ++attempts });
        return last.status === 'fulfilled' || undefined;
      },
      () => `row ${row.id} was not delivered in ${attempts} attempts: ${reasonOf(last)}`,
      this.#patienceMs,
    );
  }
}

function outcome(publishing: Promise<unknown>): Promise<PublishResult> {
  return publishing.then(
    () => ({ status: 'fulfilled' }) as const,
    (reason: unknown) => ({ status: 'rejected', reason }) as const,
  );
}

function reasonOf(result: PublishResult | undefined): string {
  return result?.status === 'rejected' ? String(result.reason) : 'fulfilled';
}
